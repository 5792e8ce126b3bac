-- A person's walk through a folder of pages in Neovim with its own client of the protocol. Writes what it saw as JSON.
local out, command = vim.env.WALK_OUT, vim.split(vim.env.WALK_COMMAND, "\n")
local saw = {}

local function finish(problem)
  saw.problem = problem
  local file = assert(io.open(out, "w"))
  file:write(vim.json and vim.json.encode(saw) or vim.fn.json_encode(saw))
  file:close()
  vim.cmd("qall!")
end

local function wait(what, check)
  if not vim.wait(60000, check, 50) then
    error("not in time: " .. what)
  end
end

local function attach()
  local id = vim.lsp.start_client({ name = "commonplace", cmd = command, root_dir = vim.fn.getcwd() })
  vim.lsp.buf_attach_client(0, id)
  wait("the client", function()
    local client = vim.lsp.get_client_by_id(id)
    return client and client.initialized
  end)
  return id
end

local function ask(id, method, params)
  local answer
  vim.lsp.get_client_by_id(id).request(method, params, function(problem, result)
    answer = { problem = problem and problem.message, result = result }
  end, 0)
  wait(method, function()
    return answer ~= nil
  end)
  if answer.problem then
    error(method .. ": " .. answer.problem)
  end
  return answer.result
end

local function put(text, offset)
  vim.fn.cursor(1, 1)
  vim.fn.search("\\V" .. text, "c")
  if offset > 0 then
    vim.cmd("normal! " .. offset .. "l")
  end
end

local function walk()
  vim.cmd("edit index.md")
  local id = attach()
  put("[[guide]]", 3)
  local place = vim.lsp.util.make_position_params(0, vim.lsp.get_client_by_id(id).offset_encoding)
  vim.lsp.util.jump_to_location(
    ask(id, "textDocument/definition", place), vim.lsp.get_client_by_id(id).offset_encoding
  )
  saw.definition = vim.fn.expand("%:t")
  vim.lsp.buf_attach_client(0, id)
  put("Set up", 0)
  place = vim.lsp.util.make_position_params(0, vim.lsp.get_client_by_id(id).offset_encoding)
  place.newName = "First steps"
  vim.lsp.util.apply_workspace_edit(
    ask(id, "textDocument/rename", place), vim.lsp.get_client_by_id(id).offset_encoding
  )
  vim.cmd("silent wall")
  vim.cmd("edit index.md")
  vim.lsp.buf_attach_client(0, id)
  vim.fn.append(vim.fn.line("$"), { "See [[nowhere]] and [[gui" })
  wait("the diagnostics", function()
    return #vim.diagnostic.get(0) > 0
  end)
  saw.diagnostic = vim.diagnostic.get(0)[1].message
  vim.fn.cursor(vim.fn.line("$"), 1)
  vim.cmd("startinsert!")
  vim.cmd("normal! $")
  place = vim.lsp.util.make_position_params(0, vim.lsp.get_client_by_id(id).offset_encoding)
  place.position.character = place.position.character + 1
  local items = ask(id, "textDocument/completion", place).items
  saw.completion = items[1] and items[1].textEdit.newText
  vim.lsp.stop_client(id)
end

vim.opt.swapfile = false
vim.opt.hidden = true
local fine, problem = xpcall(walk, debug.traceback)
finish(not fine and tostring(problem) or nil)
