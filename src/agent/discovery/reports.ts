import type { KindState, LiveObject } from '../../model/agent/agent.ts';
import type { AgentReports } from '../../model/agent/agent-report.ts';
import type { ObjectKey } from '../../model/objects/object-key.ts';

/** The agent's own reports, which the snapshot has beside the objects of the cluster. */
export function createReportBook() {
  const makers = new Map<string, AgentReports>();
  let objects: ReadonlyMap<ObjectKey, LiveObject> = new Map();
  let kinds: readonly KindState[] = [];
  let last: { readonly ofCluster: readonly KindState[]; readonly joined: readonly KindState[] } | undefined;

  return {
    /** Takes all reports of one maker. Returns the keys of the reports of all makers, now and before. */
    take(maker: string, next: AgentReports): ReadonlySet<ObjectKey> {
      const before = objects;
      makers.set(maker, next);
      const all = [...makers.values()];
      objects = new Map(all.flatMap((each) => each.objects.map((object) => [object.key, object])));
      const now = all.flatMap((each) => each.kinds);
      if (JSON.stringify(now) !== JSON.stringify(kinds)) {
        kinds = now;
        last = undefined;
      }
      return new Set([...before.keys(), ...objects.keys()]);
    },
    get: (key: ObjectKey): LiveObject | undefined => objects.get(key),
    /** The kinds of the snapshot. The list is long and seldom new: it stays the same list while both parts of it do. */
    withKinds(ofCluster: readonly KindState[]): readonly KindState[] {
      if (last?.ofCluster !== ofCluster) last = { ofCluster, joined: joinKinds(ofCluster, kinds) };
      return last.joined;
    },
  };
}

/** A report can be a file in the cluster: of one that cannot be read the kind stays unknown. */
function joinKinds(ofCluster: readonly KindState[], ofReports: readonly KindState[]): readonly KindState[] {
  const made = ofReports.filter(
    ({ kind }) => !ofCluster.some((each) => each.kind === kind && each.state === 'unknown'),
  );
  if (made.length === 0) return ofCluster;
  return [...ofCluster.filter(({ kind }) => !made.some((each) => each.kind === kind)), ...made];
}
