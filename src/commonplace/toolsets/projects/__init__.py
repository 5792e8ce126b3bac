"""The toolset `projects`: one store of projects with chapters, knowledge and todos, in step with an origin."""
