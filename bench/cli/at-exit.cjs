'use strict';
// Loaded before a measured program: writes what the process has cost until its end, into the file that FIGURES names. Counting
// the modules costs time itself, so a run that counts them is none that is timed.
const { writeFileSync } = require('node:fs');

const modules = { count: 0 };
if (process.env.COUNTS_MODULES === '1') {
  require('node:module').registerHooks({
    load(url, context, next) {
      if (url.startsWith('file:')) modules.count += 1;
      return next(url, context);
    },
  });
}

process.on('exit', () => {
  const { user, system } = process.cpuUsage();
  const figures = { cpuMillis: (user + system) / 1000, modules: modules.count };
  writeFileSync(process.env.FIGURES, JSON.stringify(figures));
});
