// npm runs this before it packs a checkout, also for an installation from git, and after it has installed the dependencies of one: it
// builds the bundle.
'use strict';
const { spawnSync } = require('node:child_process');
const { existsSync } = require('node:fs');
const { join } = require('node:path');
const { nodeProblem, ownNode } = require('../bin/fleetrelay.cjs');

const project = join(__dirname, '..');

/** Ends this process too if the command fails. npm reads standard output, so everything goes to standard error. */
function run(command, args, env = process.env) {
  const { status, error } = spawnSync(command, args, { cwd: project, stdio: ['ignore', 2, 2], env });
  if (error !== undefined) process.stderr.write(`${command}: ${error.message}\n`);
  if (status !== 0) process.exit(status ?? 1);
}

// "npm install --global git+..." runs this without having installed the dependencies: its settings for the global folder
// reach the npm that should do it (npm 11).
if (!existsSync(join(project, 'node_modules', 'esbuild'))) {
  const ofCaller = /^npm_config_(global|prefix|global_prefix|local_prefix|include|omit|install_links)$/i;
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !ofCaller.test(name)));
  run('npm', ['ci', '--ignore-scripts'], env);
}
// npm may run with a Node.js that is too old for the script that builds.
const problem = nodeProblem(process.versions.node);
const node = problem === undefined ? process.execPath : ownNode();
if (node === undefined) {
  process.stderr.write(`${problem}\n`);
  process.exit(1);
}
run(node, [join(__dirname, 'build.ts')]);
