import { clusterFolder } from '../../model/fleet/cluster-folder.ts';
import { outOfReach, reaches } from '../../model/fleet/source-rights.ts';
import { differences } from '../../model/objects/label-differences.ts';
import type { ValueRef, WhyNotReason } from '../domain.ts';
import type { DocumentRef } from '../fleet/sources.ts';
import type { Engine } from '../graph.ts';
import { maySelect, placingSources, selectorsOf } from '../placement/assignments.ts';
import { selectFile } from '../placement/matching.ts';
import type { PlacementValue } from '../placement/placements.ts';

/** Why a document goes to other clusters than this one: each rule that could have sent it there. */
export function notSelected(engine: Engine, cluster: string, document: DocumentRef): readonly WhyNotReason[] {
  const { source, path } = document;
  const folder = clusterFolder(path);
  // Also those that may not select files of the source: that they may not is a reason to name.
  const sources = placingSources(engine.placementIndexes);
  const { selecting, leftOut } = selectFile(document, { ...engine.placementIndexes, sources });
  const rules = [
    ...selecting.map(({ key, value }) => notByPlacement(engine, cluster, source, key, value)),
    ...leftOut.filter((by) => selectorsOf(source, engine.placementIndexes).includes(by)).map((by) => tooExpensive(by)),
  ];
  if (folder === cluster && !reaches(engine.rights.get('', source), cluster)) {
    const todo = `let the source reach the cluster (allow.targets in the RelayConfig)`;
    return [{ reason: 'NotAllowed', message: outOfReach(source, cluster), at: document, todo }];
  }
  if (rules.length > 0) return rules;
  if (folder !== undefined) {
    const message = `its file lies under clusters/${folder}, so it goes to cluster ${folder} only, and no Placement selects the file`;
    const todo = `move the file under clusters/${cluster}, or let a Placement select it`;
    return [{ reason: 'OtherFolder', message, at: document, todo }];
  }
  const message = `no Placement selects its file, and the file does not lie under clusters/${cluster}`;
  const todo = `add the path to a Placement that selects ${cluster}`;
  return [{ reason: 'NoPlacement', message, at: document, todo }];
}

function tooExpensive(source: string): WhyNotReason {
  const message = `the Placements of source ${source} need too many steps to match the path of its file, and place it nowhere`;
  return { reason: 'PlacementTooExpensive', message, todo: 'write their paths with fewer wildcards' };
}

function notByPlacement(
  engine: Engine,
  cluster: string,
  source: string,
  name: string,
  value: PlacementValue,
): WhyNotReason {
  const { declared, outOfReach: far } = value;
  const at: ValueRef = { ...declared.origin, identity: declared.identity };
  if (!maySelect(value, source)) {
    const message = `Placement ${name} of source ${declared.origin.source} may not select files of source ${source}`;
    return { reason: 'NotAllowed', message, at, todo: 'add the source to allow.files in the RelayConfig' };
  }
  if (far.includes(cluster)) {
    const message = `Placement ${name} selects it, but ${outOfReach(declared.origin.source, cluster)}`;
    return { reason: 'NotAllowed', message, at, todo: 'add the cluster to allow.targets in the RelayConfig' };
  }
  const { names, selector } = declared.value.clusters;
  const labels = engine.clusters.get('', cluster)?.value.labels ?? {};
  const differs = selector === undefined ? undefined : differences(selector, labels, 'the cluster');
  const listed = names.length === 0 ? '' : `it lists the clusters ${names.slice(0, LISTED).join(', ')}${more(names)}`;
  const why = [listed, differs?.text ?? ''].filter((each) => each !== '').join(', and ');
  const field =
    differs === undefined ? ['spec', 'clusters', 'names'] : ['spec', 'clusters', 'selector', ...differs.path];
  return {
    reason: 'NotSelected',
    message: `Placement ${name} selects its file, but not cluster ${cluster}: ${why}`,
    at: { ...at, field },
    todo:
      differs === undefined
        ? `add ${cluster} to the names`
        : `change the label of the KubernetesCluster, or the selector`,
  };
}

const LISTED = 5;

function more(names: readonly unknown[]): string {
  return names.length > LISTED ? `, and ${names.length - LISTED} more` : '';
}
