import type { Derived } from '../../src/engine/collections/types.ts';
import type { Domain } from '../../src/engine/domain.ts';
import { type Declared, declaredOf } from '../../src/engine/fleet/declared.ts';
import { documentKey } from '../../src/engine/fleet/sources.ts';
import type { Want } from '../../src/engine/placement/wants.ts';
import { type ObjectKey, objectKey, statusKey } from '../../src/model/objects/object-key.ts';
import { objectDigest } from '../../src/model/text/digest.ts';
import type { JsonObject } from '../../src/model/text/json.ts';

/** The key of the status that {@link statusDomain} makes. */
export function statusOf(name: string): ObjectKey {
  return statusKey(objectKey({ group: 'example.com', kind: 'Flower', namespace: 'garden', name }));
}

/**
 * A domain of tests: each ServiceMirror `NAME` or `NAME-CLUSTER` becomes the status of the Flower garden/NAME, which people write, in the
 * clusters that it names under `to`. `more`: further members of the value.
 */
export function statusDomain(more: JsonObject = {}): Domain {
  return {
    name: 'flowers',
    readsLive: {},
    derive: (graph, { declarations }) => {
      const wants: Derived<Want> = graph.derive<Declared<'ServiceMirror'>, Want>({
        name: 'flowerStatuses',
        ...declaredOf(declarations, 'ServiceMirror'),
        compute: ({ value: { name: declared, origin, identity, value: mirror } }, _read, emit) => {
          const [name = ''] = declared.split('-');
          const value = {
            apiVersion: 'example.com/v1',
            kind: 'Flower',
            metadata: { name, namespace: 'garden' },
            status: { seen: true },
            ...more,
          };
          emit(origin.source, documentKey(origin.path, identity), {
            ...{ key: statusOf(name), value, digest: objectDigest(value), clusters: mirror.to.names },
            ...{ origin, identity, scope: [], scopeUnknown: false },
            derived: { domain: 'flowers', standsFor: { named: `the flower ${name}` } },
          });
        },
      });
      return { collections: { bySource: [wants], anywhere: [] }, makes: { wants: [wants] }, report: () => ({}) };
    },
  };
}

/** A declaration of which the domain makes a status in `to`. */
export function flowerYaml(name: string, to: string): string {
  return `apiVersion: fleetrelay.dev/v1alpha1\nkind: ServiceMirror\nmetadata: {name: ${name}}\nspec: {from: {names: [${to}]}, to: {names: [${to}]}}\n`;
}
