// `npm pack` runs this with "prepack" before it makes the package of a checkout, and with "postpack" afterwards. In between,
// package.json lacks what is of use in a checkout only: an installed package has no scripts to run and no dependencies, since the
// bundle contains them. If npm is ended in between, `git checkout package.json` brings the file back.
'use strict';
const { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');

const project = join(__dirname, '..');
const file = join(project, 'package.json');
const kept = join(project, '.cache', 'package.json');

if (process.argv[2] === 'prepack') {
  require('./prepare.cjs');
  mkdirSync(join(project, '.cache'), { recursive: true });
  copyFileSync(file, kept);
  const { scripts, devDependencies, workspaces, allowScripts, ...packed } = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(file, `${JSON.stringify(packed, null, 2)}\n`);
} else if (existsSync(kept)) {
  renameSync(kept, file);
}
