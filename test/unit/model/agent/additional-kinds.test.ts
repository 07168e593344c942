import { expect, test } from 'vitest';
import {
  type AdditionalKind,
  type AgentSettings,
  MOST_SETTINGS_BYTES,
  parseSettings,
  settingsText,
} from '../../../../src/model/agent/agent-settings.ts';
import { defaultFleetPolicy, settingsOfPolicy } from '../../../../src/model/fleet/fleet-policy.ts';

const SEED_KINDS = ['Etcd', 'Machine', 'MachineDeployment', 'ManagedResource', 'Worker', '*'].map(
  (kind) => `g/${kind}`,
);
const spaces = (count: number, length = 28): readonly string[] =>
  Array.from({ length: count }, (_, index) => `shoot--${index}`.padEnd(length, 'x'));

function seedKinds(namespaces: readonly string[]): readonly AdditionalKind[] {
  return [
    { kind: 'g/Cluster' },
    ...SEED_KINDS.map((kind) => ({ kind, namespaces })),
    { kind: '/Secret', namespaces, labels: { a: 'b' }, metadataOnly: true },
    { kind: 'g/BackupEntry', namePrefixes: namespaces.map((each) => `${each}--`) },
  ];
}

/** The settings of an agent that reports these kinds, as they arrive. */
function arrived(kinds: readonly AdditionalKind[]): AgentSettings['discovery']['additionalKinds'] {
  const text = settingsText(settingsOfPolicy(defaultFleetPolicy, {}, { kinds }));
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MOST_SETTINGS_BYTES);
  const parsed = parseSettings(text);
  return parsed.ok ? parsed.value.discovery.additionalKinds : expect.fail(parsed.problem);
}

test('kinds that are narrowed alike share their lists, so settings with a thousand namespaces fit', () => {
  const namespaces = spaces(1_000);
  expect(arrived(seedKinds(namespaces))).toEqual([
    { kinds: ['g/Cluster'] },
    { kinds: SEED_KINDS, namespaces },
    { kinds: ['/Secret'], namespaces, labels: { a: 'b' }, metadataOnly: true },
    { kinds: ['g/BackupEntry'], namePrefixes: namespaces.map((each) => `${each}--`) },
  ]);
});

test.each([
  ['a list of more than a thousand namespaces', spaces(1_001)],
  ['names that are too long for settings', spaces(1_000, 63).map((each) => each.padEnd(90, 'x'))],
])('%s: the kinds are reported of all namespaces, and never less than is needed', (_what, namespaces) => {
  expect(arrived(seedKinds(namespaces))).toEqual([
    { kinds: ['g/Cluster', ...SEED_KINDS, 'g/BackupEntry'] },
    { kinds: ['/Secret'], labels: { a: 'b' }, metadataOnly: true },
  ]);
});

test('a kind that is asked for twice in the same way is there once', () => {
  expect(arrived([{ kind: '/Secret', labels: {} }, { kind: '/Secret', labels: {} }, { kind: '/Secret' }])).toEqual([
    { kinds: ['/Secret'], labels: {} },
    { kinds: ['/Secret'] },
  ]);
});
