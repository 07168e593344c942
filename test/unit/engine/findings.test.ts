import { describe, expect, it } from 'vitest';
import { decoders } from '../../../src/domains/decoders.ts';
import { engineDomains } from '../../../src/domains/engines.ts';
import { createGraph } from '../../../src/engine/collections/graph.ts';
import { createEngine } from '../../../src/engine/graph.ts';
import { engineDiagnostics, unusedPaths } from '../../../src/engine/status/diagnostics.ts';
import { locate } from '../../../src/manifest/locate.ts';
import { displayLocation } from '../../../src/model/fleet/diagnostic.ts';
import { parseSourceName } from '../../../src/model/fleet/ids.ts';
import { must } from '../../../src/model/values/result.ts';
import { decodeFile } from '../../support/decode-file.ts';
import { bytesOf } from '../../support/decoding.ts';

const SOURCE = must(parseSourceName('git'));

/** What the engine finds in a repository, as `reason: places`. */
function findingsOf(files: Readonly<Record<string, string>>): readonly string[] {
  const engine = createEngine(createGraph(), engineDomains);
  const bounds = { guards: { maxRemovalsPerCluster: 5 }, safeModes: ['strict'], webhookRemediator: false } as const;
  engine.inputs.fleet.set('', '', { bounds, role: 'leader' });
  engine.inputs.sources.set('', SOURCE, { order: 0, read: true });
  for (const [path, text] of Object.entries(files)) {
    engine.inputs.files.set(SOURCE, path, decodeFile(path, bytesOf(text), path).reading);
  }
  engine.commit();
  return [...engineDiagnostics(engine), ...unusedPaths(engine)].map(({ reason, at }) => {
    const places = at.map(
      ({ path, identity, field = [] }) =>
        locate(decoders, path, bytesOf(files[path] ?? ''), { identity, field, part: 'value' })?.at,
    );
    return `${reason}: ${places.map((place) => (place === undefined ? '?' : displayLocation(place))).join(', ')}`;
  });
}

const settings = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n';
const cluster = 'apiVersion: admin.gloo.solo.io/v2\nkind: KubernetesCluster\nmetadata:\n  name: east\n';

describe('a finding of the engine points at the value at fault', () => {
  it('at each unknown cluster that a Placement names, wherever it stands in the list', () => {
    const placement = `# first
apiVersion: fleetrelay.dev/v1alpha1
kind: Placement
metadata: {name: p}
spec:
  paths: [a/**]
  clusters:
    names: [west, east,
      "ahead"]
`;
    expect(findingsOf({ 'east.yaml': cluster, 'p.yaml': placement, 'a/x.yaml': settings })).toEqual([
      'UnknownCluster: p.yaml:9:7',
      'UnknownCluster: p.yaml:8:13',
    ]);
  });

  it('at each side of a ServiceMirror that names an unknown cluster', () => {
    const mirror = `apiVersion: fleetrelay.dev/v1alpha1
kind: ServiceMirror
metadata: {name: m}
spec:
  from: {names: [west]}
  to:
    names: [east, west]
`;
    expect(findingsOf({ 'east.yaml': cluster, 'm.yaml': mirror })).toEqual([
      'UnknownCluster: m.yaml:5:18, m.yaml:7:19',
    ]);
  });

  it('at the names of two declarations of one thing', () => {
    expect(findingsOf({ 'a.yaml': cluster, 'b.yaml': `---\n${cluster}` })).toEqual([
      'DeclaredTwice: a.yaml:4:9, b.yaml:5:9',
    ]);
    const dataplane = 'type: Dataplane\nmesh: m\nname: web\nnetworking: {address: 10.0.0.1}\n';
    expect(findingsOf({ 'a.yaml': dataplane, 'b.yaml': dataplane })).toEqual(['DeclaredTwice: a.yaml:3:7, b.yaml:3:7']);
  });

  it('at the settings of a FleetPolicy that are cut; at the nearest parent of one that is not written', () => {
    const policy = (spec: string): string =>
      `apiVersion: fleetrelay.dev/v1alpha1\nkind: FleetPolicy\nmetadata: {name: p}\nspec:\n${spec}`;
    const written = '  safeMode:\n    mode: scoped\n  guards:\n    maxRemovalsPerCluster: 50\n';
    expect(findingsOf({ 'p.yaml': policy(written) })).toEqual([
      'PolicyBounded: p.yaml:8:28',
      'PolicyBounded: p.yaml:6:11',
    ]);
    expect(findingsOf({ 'p.yaml': policy('  status: {}\n') })).toEqual([
      'PolicyBounded: p.yaml:5:3',
      'PolicyBounded: p.yaml:5:3',
    ]);
  });

  it('at the selector of a Placement or of a side of a ServiceMirror that matches no cluster', () => {
    const placement = `apiVersion: fleetrelay.dev/v1alpha1
kind: Placement
metadata: {name: p}
spec:
  paths: [x.yaml]
  clusters:
    names: [east]
    selector: {matchLabels: {env: prod}}
`;
    const mirror = `apiVersion: fleetrelay.dev/v1alpha1
kind: ServiceMirror
metadata: {name: m}
spec:
  from: {selector: {matchLabels: {env: prod}}}
  to:
    selector: {matchLabels: {env: test}}
`;
    const files = { 'm.yaml': mirror, 'p.yaml': placement, 'x.yaml': settings };
    const labelled = cluster.replace('  name: east', '  name: east\n  labels: {env: test}');
    expect(findingsOf({ ...files, 'east.yaml': labelled })).toEqual([
      'SelectsNoCluster: m.yaml:5:20',
      'SelectsNoCluster: p.yaml:8:15',
    ]);
    const others = { 'east.yaml': labelled, 'west.yaml': labelled.replace('east', 'west').replace('test', 'prod') };
    expect(findingsOf({ ...files, ...others })).toEqual([]);
  });

  it('at each path of a Placement under which no document for clusters lies', () => {
    const placement = `apiVersion: fleetrelay.dev/v1alpha1
kind: Placement
metadata: {name: p}
spec:
  paths: [b/**, a/**, "*/x.yaml",
    p.yaml]
  clusters: {names: [east]}
`;
    expect(findingsOf({ 'east.yaml': cluster, 'p.yaml': placement, 'a/x.yaml': settings })).toEqual([
      'PlacementSelectsNothing: p.yaml:5:11',
      'PlacementSelectsNothing: p.yaml:6:5',
    ]);
  });
});
