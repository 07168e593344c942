import type { KindState, LiveObject } from '../../model/agent.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import type { CareReports } from '../care/care.ts';

/** The agent's own reports, which the snapshot has beside the objects of the cluster. */
export function createReportBook() {
  const makers = new Map<string, CareReports>();
  let objects: ReadonlyMap<ObjectKey, LiveObject> = new Map();
  let kinds: readonly KindState[] = [];

  return {
    /** Takes all reports of one maker. Returns the keys of the reports of all makers, now and before. */
    take(maker: string, next: CareReports): ReadonlySet<ObjectKey> {
      const before = objects;
      makers.set(maker, next);
      const all = [...makers.values()];
      objects = new Map(all.flatMap((each) => each.objects.map((object) => [object.key, object])));
      kinds = all.flatMap((each) => each.kinds);
      return new Set([...before.keys(), ...objects.keys()]);
    },
    get: (key: ObjectKey): LiveObject | undefined => objects.get(key),
    /** The kinds of the snapshot. A report can be a file in the cluster: of one that cannot be read the kind stays unknown. */
    withKinds(ofCluster: readonly KindState[]): readonly KindState[] {
      const made = kinds.filter(
        ({ kind }) => !ofCluster.some((each) => each.kind === kind && each.state === 'unknown'),
      );
      if (made.length === 0) return ofCluster;
      return [...ofCluster.filter(({ kind }) => !made.some((each) => each.kind === kind)), ...made];
    },
  };
}
