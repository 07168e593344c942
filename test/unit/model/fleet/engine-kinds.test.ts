import { describe, expect, it } from 'vitest';
import {
  type DeclaredName,
  declarationKey,
  type EngineKind,
  engineKindIds,
  engineKindOf,
  engineKindRow,
  isEngineKind,
} from '../../../../src/model/fleet/engine-kinds.ts';

describe('the registry of engine kinds', () => {
  it('finds each kind by group and kind, and no other', () => {
    for (const id of engineKindIds) {
      const { group, kind } = engineKindRow(id);
      expect([engineKindOf(group, kind), isEngineKind(id)]).toEqual([id, true]);
    }
    expect(engineKindOf('apps', 'Shoot')).toBeUndefined();
    expect(engineKindOf('', 'toString')).toBeUndefined();
    expect(isEngineKind('toString')).toBe(false);
  });

  it('spells an id as the kind, with the group only where two groups have a kind of that name', () => {
    const kinds = engineKindIds.map((id) => engineKindRow(id).kind);
    for (const id of engineKindIds) {
      const { group, kind } = engineKindRow(id);
      const isShared = kinds.indexOf(kind) !== kinds.lastIndexOf(kind);
      expect(id).toBe(isShared ? `${group}/${kind}` : kind);
    }
  });

  it.each<[EngineKind, DeclaredName, string]>([
    ['KubernetesCluster', { namespace: 'fleet', name: 'east' }, 'east'],
    ['Placement', { namespace: '', name: 'web' }, 'web'],
    ['FleetPolicy', { namespace: 'fleet', name: 'any' }, ''],
    ['Shoot', { namespace: 'garden', name: 'web' }, 'garden/web'],
    ['Shoot', { namespace: '', name: 'web' }, 'web'],
    ['Dataplane', { namespace: 'shop', name: 'web' }, 'shop/web'],
    ['Dataplane', { namespace: '', name: 'web', parent: 'default' }, 'web@default'],
  ])('a %s of %j has the key "%s"', (kind, name, key) => {
    expect(declarationKey(kind, name)).toBe(key);
  });
});
