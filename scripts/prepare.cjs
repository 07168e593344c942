// npm runs this before it packs a checkout, also for an installation from git. It builds with the Node.js that the project
// brings: npm may run it with an older one, which cannot read the script that builds.
'use strict';
const { spawnSync } = require('node:child_process');
const { join } = require('node:path');
const { nodeProblem, ownNode } = require('../bin/fleetrelay.cjs');

const isTooOld = nodeProblem(process.versions.node) !== undefined;
const node = (isTooOld ? ownNode() : undefined) ?? process.execPath;
process.exitCode = spawnSync(node, [join(__dirname, 'build.ts')], { stdio: 'inherit' }).status ?? 1;
