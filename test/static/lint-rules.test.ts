import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** A file that breaks one rule, and the rule that must say so. */
interface Violation {
  readonly path: string;
  readonly code: string;
  readonly rule: string;
}

const IMPORTS = 'lint/style/noRestrictedImports';
const GLOBALS = 'lint/style/noRestrictedGlobals';
const PROPERTIES = 'lint/nursery/noJsRestrictedProperties';
const PLATFORM = 'plugin';

function forbiddenImport(folder: string, specifier: string, rule = IMPORTS): Violation {
  const name = specifier.replaceAll(/[^a-z]+/g, '-').replace(/^-|-$/g, '');
  return { path: `${folder}/imports-${name}.ts`, code: `export { x } from '${specifier}';\n`, rule };
}

function forbiddenUse(folder: string, name: string, expression: string, rule: string): Violation {
  return { path: `${folder}/uses-${name}.ts`, code: `export const x: unknown = ${expression};\n`, rule };
}

const LAYERS: readonly Violation[] = [
  forbiddenImport('src/model', '../engine/output/x.ts'),
  forbiddenImport('src/model', '../ports/clock.ts'),
  forbiddenImport('src/model', '../../generated/types.ts'),
  forbiddenImport('src/model', 'yaml'),
  forbiddenImport('src/ports', '../engine/x.ts'),
  forbiddenImport('src/election', '../runtime/loop.ts'),
  forbiddenImport('src/http', '../server/people.ts'),
  forbiddenImport('src/agent', '../domains/care/agent/care.ts'),
  forbiddenImport('src/runtime', '../domains/engines.ts'),
  forbiddenImport('src/compose', '../domains/health/xds/xds.ts'),
  forbiddenImport('src/domains/health/probes', '../../../manifest/x.ts'),
  forbiddenImport('src/domains/health/probes', 'node:http'),
  forbiddenImport('src/election', '../adapters/stores/store-lease.ts'),
  forbiddenImport('src/adapters/stores', '../../election/elector.ts'),
  forbiddenImport('src/manifest', '../engine/x.ts'),
  forbiddenImport('src/manifest', '../ports/clock.ts'),
  forbiddenImport('src/engine', '../ports/clock.ts'),
  forbiddenImport('src/engine/output', '../../manifest/x.ts'),
  forbiddenImport('src/engine/output', '../../../generated/types.ts'),
  forbiddenImport('src/engine/output', 'node:path'),
  forbiddenImport('src/engine/collections', '../output/x.ts'),
  forbiddenImport('src/engine/collections', '../../model/json.ts'),
  forbiddenImport('src/sources/git', '../../sinks/agents/x.ts'),
  forbiddenImport('src/sources/git', '../../adapters/git/native.ts'),
  forbiddenImport('src/sinks/git', '../../sources/git/x.ts'),
  forbiddenImport('src/sinks/git', '../../../generated/x.ts'),
  forbiddenImport('src/relay', '../adapters/grpc/server.ts'),
  forbiddenImport('src/relay', '../http/bodies.ts'),
  forbiddenImport('src/adapters/kubernetes', '../../runtime/loop.ts'),
  forbiddenImport('src/adapters/grpc', '../../runtime/loop.ts'),
  forbiddenImport('src/xds', '../adapters/grpc/server.ts'),
  forbiddenImport('src/xds', '../server/metrics.ts'),
  forbiddenImport('src/agent', '../engine/graph.ts'),
  forbiddenImport('src/agent', '../adapters/directory/x.ts'),
  forbiddenImport('src/runtime', '../compose/serve/serve.ts'),
  forbiddenImport('src/runtime', '../sinks/agents/sender.ts'),
  forbiddenImport('src/runtime', '../server/metrics.ts'),
  forbiddenImport('src/server', '../cli/main.ts'),
  forbiddenImport('src/server', '../runtime/loop.ts'),
  forbiddenImport('src/api', '../server/acts.ts'),
  forbiddenImport('src/api', '../ports/clock.ts'),
  forbiddenImport('src/adapters/git', '../../compose/serve/serve.ts'),
  forbiddenImport('src/adapters/git', '../../../generated/x.ts'),
  forbiddenImport('src/cli/commands', '../../adapters/git/native.ts'),
  forbiddenImport('src/compose', '../cli/main.ts'),
];

const PLACES: readonly Violation[] = [
  forbiddenImport('src/runtime', 'node:fs', PLATFORM),
  forbiddenImport('src/sources/files', 'node:fs/promises', PLATFORM),
  forbiddenImport('src/agent', 'node:child_process', PLATFORM),
  forbiddenImport('src/relay', 'node:timers/promises', PLATFORM),
  forbiddenImport('src/server', 'node:process', PLATFORM),
  {
    path: 'src/runtime/imports-lazily.ts',
    code: "export const fs: unknown = import('node:fs');\n",
    rule: PLATFORM,
  },
  forbiddenUse('src/runtime', 'now', 'Date.now()', PROPERTIES),
  forbiddenUse('src/engine', 'random', 'Math.random()', PROPERTIES),
  forbiddenUse('src/server', 'deadline', 'AbortSignal.timeout(1)', PROPERTIES),
  forbiddenUse('src/relay', 'hidden-timer', 'globalThis.setTimeout', PROPERTIES),
  forbiddenUse('src/runtime', 'new-date', 'new Date()', PLATFORM),
  forbiddenUse('src/sinks', 'timer', 'setTimeout(() => {}, 1)', GLOBALS),
  forbiddenUse('src/agent', 'interval', 'setInterval(() => {}, 1)', GLOBALS),
  forbiddenUse('src/runtime', 'immediate', 'setImmediate(() => {})', GLOBALS),
  forbiddenUse('src/relay', 'performance', 'performance.now()', GLOBALS),
  forbiddenUse('src/sources', 'environment', 'process.env', GLOBALS),
  { path: 'src/runtime/prints.ts', code: "console.log('x');\n", rule: 'lint/suspicious/noConsole' },
];

const HABITS: readonly Violation[] = [
  {
    path: 'src/runtime/floats.ts',
    code: 'async function work(): Promise<void> {}\nexport function start(): void {\n  work();\n}\n',
    rule: 'lint/nursery/noFloatingPromises',
  },
  {
    path: 'src/runtime/cycle-a.ts',
    code: "import type { B } from './cycle-b.ts';\nexport interface A {\n  readonly b: B;\n}\n",
    rule: 'lint/suspicious/noImportCycles',
  },
  {
    path: 'src/runtime/cycle-b.ts',
    code: "import type { A } from './cycle-a.ts';\nexport interface B {\n  readonly a: A;\n}\n",
    rule: 'lint/suspicious/noImportCycles',
  },
  {
    path: 'src/runtime/any.ts',
    code: 'export function f(x: any): unknown {\n  return x;\n}\n',
    rule: 'lint/suspicious/noExplicitAny',
  },
  {
    path: 'src/runtime/value-import-of-type.ts',
    code: "import { Clock } from '../ports/clock.ts';\nexport type X = Clock;\n",
    rule: 'lint/style/useImportType',
  },
  { path: 'src/runtime/enum.ts', code: 'export enum Colour {\n  Red = 0,\n}\n', rule: 'lint/style/noEnum' },
  {
    path: 'src/runtime/undeclared.ts',
    code: "import x from 'left-pad';\nexport const y: unknown = x;\n",
    rule: 'lint/correctness/noUndeclaredDependencies',
  },
  {
    path: 'src/runtime/wrongName.ts',
    code: 'export const x = 1;\n',
    rule: 'lint/style/useFilenamingConvention',
  },
];

/** What must stay allowed: a rule that refuses everything would pass the tests above as well. */
const ALLOWED: Readonly<Record<string, string>> = {
  'src/model/good.ts': "import { hash } from 'node:crypto';\nexport const x: unknown = [hash, new Date(0)];\n",
  'src/ports/clock.ts': 'export interface Clock {\n  now(): number;\n}\n',
  'src/engine/output/good.ts': "import { x } from '../../model/good.ts';\nexport const y: unknown = [x];\n",
  'src/engine/collections/good.ts': "export type { Y } from './types.ts';\n",
  'src/engine/collections/types.ts': 'export type Y = string;\n',
  'src/sources/git/good.ts': "export type { Clock } from '../../ports/clock.ts';\n",
  'src/adapters/system/good.ts':
    "import { readFileSync } from 'node:fs';\nexport const x: unknown = [readFileSync, Date.now(), new Date(), setTimeout, process.env];\n",
  'src/compose/good.ts': "import { x } from '../adapters/system/good.ts';\nexport const y: unknown = [x];\n",
  'src/cli/good.ts': 'console.log(process.argv, Date.now());\n',
};

interface Report {
  readonly diagnostics: readonly { readonly category: string; readonly location: { readonly path: string } }[];
}

const project = join(import.meta.dirname, '../..');
const found = new Map<string, Set<string>>();
let tree: string;

function biome(folder: string): Promise<Report> {
  const binary = join(project, 'node_modules/@biomejs/biome/bin/biome');
  const flags = ['lint', '--vcs-enabled=false', '--reporter=json', '--max-diagnostics=none', '.'];
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [binary, ...flags],
      { cwd: folder, maxBuffer: 16 << 20, timeout: 250_000 },
      (error, stdout) => {
        try {
          resolve(JSON.parse(stdout) as Report);
        } catch {
          reject(error ?? new Error(`not JSON: ${stdout.slice(0, 200)}`));
        }
      },
    );
  });
}

const VIOLATIONS = [...LAYERS, ...PLACES, ...HABITS];

beforeAll(async () => {
  tree = await mkdtemp(join(tmpdir(), 'fleetrelay-lint-'));
  for (const shared of ['biome.json', 'generated/biome-layers.json', 'package.json', 'scripts/lint']) {
    await cp(join(project, shared), join(tree, shared), { recursive: true });
  }
  const files = [...VIOLATIONS.map(({ path, code }) => [path, code] as const), ...Object.entries(ALLOWED)];
  for (const [path, code] of files) {
    await mkdir(join(tree, dirname(path)), { recursive: true });
    await writeFile(join(tree, path), code);
  }
  for (const { category, location } of (await biome(tree)).diagnostics) {
    found.set(location.path, (found.get(location.path) ?? new Set()).add(category));
  }
});

afterAll(() => rm(tree, { recursive: true, force: true }));

describe('the linter refuses', () => {
  test.each(VIOLATIONS)('$path ($rule)', ({ path, rule }) => {
    expect([...(found.get(path) ?? [])]).toContain(rule);
  });
});

describe('the linter allows', () => {
  test.each(Object.keys(ALLOWED))('%s', (path) => {
    expect([...(found.get(path) ?? [])]).toEqual([]);
  });
});
