'use strict';
// Loaded before a program: at its end it writes to standard error which files and which parts of Node.js the process has loaded.
const files = [];
require('node:module').registerHooks({
  load(url, context, next) {
    if (url.startsWith('file:')) files.push(url);
    return next(url, context);
  },
});

process.on('exit', () => {
  const builtins = process.moduleLoadList
    .filter((name) => name.startsWith('NativeModule '))
    .map((name) => name.slice('NativeModule '.length));
  require('node:fs').writeSync(2, `LOADED ${JSON.stringify({ files, builtins })}\n`);
});
