import katex from "katex";

globalThis.katex = katex;
