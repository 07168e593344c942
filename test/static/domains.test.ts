import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { describe, expect, test } from 'vitest';
import { DOMAINS } from '../../scripts/layers.ts';
import { domains } from '../../src/domains/domains.ts';
import { engineDomains } from '../../src/domains/engines.ts';

/** The core knows no domain by name: the kinds of a domain are named in its folder and where all kinds are listed. */

const project = join(import.meta.dirname, '../..');

/** By domain, its kinds and what else only it knows. */
const WORDS: Readonly<Record<string, RegExp>> = {
  health: /dataplane|data plane|\bmesh(es)?\b|envoy|injector-settings/i,
  services: /service-?mirror/i,
  care: /shoot\b|shoots\b|remediator|gardener/i,
};

/** Lists of the core that have a row for each kind, finding, bound or reference, and why. */
const LISTS: Readonly<Record<string, string>> = {
  'src/model/fleet/engine-kinds.ts': 'the registry of kinds',
  'src/model/fleet/findings.ts': 'the codes of all findings',
  'src/model/fleet/relay-config.ts': 'what the RelayConfig bounds, with the schema',
  'src/manifest/relay-config.ts': 'what the RelayConfig bounds, with the schema',
  'src/compose/evaluate.ts': 'a RelayConfig without bounds',
  'src/model/agent/agent-members.ts': 'what the settings of agents say, with the capability for each member',
  'src/cli/commands/serve.ts': 'the help of --xds, which sets a listener of the RelayConfig',
  'src/adapters/grpc/xds-server.ts': 'the protocols of Envoy in general, as src/xds',
  'src/model/fleet/source-rights.ts': 'what the RelayConfig allows a source, with the schema',
  'src/model/objects/object-health/gardener.ts': 'the health of objects of other projects, by their API group',
  'src/model/objects/object-health/generic.ts': 'the health of objects of other projects, by their API group',
  'src/manifest/tool-files.ts': 'which files are of Kuma, by the members of its flat form',
  'src/engine/status/declared-status.ts': 'the status of a document in the flat form, as recordings have it',
  'src/runtime/status/status-documents.ts': 'the status of a document in the flat form, as recordings have it',
  'src/cli/commands/status.ts': 'help: what the exit code means',
  'src/compose/plan/plan-documents.ts': 'a text for people: what a plan of documents does not judge',
};

function sources(): readonly string[] {
  return readdirSync(join(project, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(project, join(entry.parentPath, entry.name)).split(sep).join('/'));
}

/** Comments may give an example. */
function withoutComments(code: string): string {
  return code.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|\s)\/\/.*$/gm, '$1');
}

test('the folders, the list, the engine and the rules of imports have the same domains', () => {
  const folders = readdirSync(join(project, 'src/domains'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  expect(folders.toSorted()).toEqual(DOMAINS.toSorted());
  expect(domains.map(({ name }) => name)).toEqual(DOMAINS);
  expect(engineDomains.map(({ name }) => name)).toEqual(DOMAINS);
  expect(Object.keys(WORDS).toSorted()).toEqual(DOMAINS.toSorted());
});

describe.each(Object.entries(WORDS))('the domain %s', (_domain, words) => {
  test('is named by no file of the core but lists of all kinds', () => {
    const found = sources().filter((file) => {
      if (file.startsWith('src/domains/') || file in LISTS || /^src\/(model\/objects\/webhooks|xds)\//.test(file))
        return false;
      return words.test(withoutComments(readFileSync(join(project, file), 'utf8')));
    });
    expect(found).toEqual([]);
  });
});

test('each list that may name kinds names one', () => {
  const needless = Object.keys(LISTS).filter((file) => {
    const code = withoutComments(readFileSync(join(project, file), 'utf8'));
    return !Object.values(WORDS).some((words) => words.test(code));
  });
  expect(needless).toEqual([]);
});

test.each([
  ['health', "case 'Dataplane':"],
  ['services', "import { validate } from '../generated/service-mirror.js';"],
  ['health', 'readonly mesh?: string;'],
  ['care', "if (kind === 'Shoot') return;"],
])('the test itself would find %s in %s', (domain, code) => {
  expect(WORDS[domain]?.test(withoutComments(code))).toBe(true);
});
