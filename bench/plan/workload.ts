/** A fleet whose clusters all hold the same objects, as the lines of a recording. */

import { engineDomains } from '../../src/domains/engines.ts';
import { createGraph } from '../../src/engine/collections/graph.ts';
import { createEngine, type Engine } from '../../src/engine/graph.ts';
import { captureInputs, recordedEntry } from '../../src/engine/recording.ts';
import type { FileReading } from '../../src/model/fleet/desired.ts';
import { END_LINE, inputLine, type RecordingHeader } from '../../src/model/fleet/recording.ts';
import type { ObjectKey } from '../../src/model/objects/object-key.ts';
import { sha256 } from '../../src/model/text/digest.ts';
import { atOnce } from '../../src/model/values/in-slices.ts';
import { stageFile } from '../../src/runtime/replica/sources.ts';
import { decodeFile } from '../../test/support/decode-file.ts';

export const CLUSTERS = 1_000;
export const DOCUMENTS = 100;
const BOUNDS = { guards: {}, safeModes: [], webhookRemediator: false };
const SINCE = 1_780_000_000_000;

/** A file of the fleet as a server reads it. */
export function readingOf(path: string, text: string): FileReading {
  return decodeFile(path, new TextEncoder().encode(text), sha256(text)).reading;
}

/** The manifest of one object of every cluster. */
export function deploymentOf(document: number, replicas: number): string {
  return `apiVersion: apps/v1
kind: Deployment
metadata: { name: d${document}, namespace: web }
spec:
  replicas: ${replicas}
  selector: { matchLabels: { app: d${document} } }
  template:
    metadata: { labels: { app: d${document} } }
    spec:
      containers:
        - name: main
          image: registry.example.com/d${document}:1.2.3
          env: [{ name: MODE, value: fast }, { name: LEVEL, value: info }]
          ports: [{ name: http, containerPort: 8080 }]
`;
}

/** The path of an object's file. */
export function pathOf(document: number): string {
  return `apps/d${document}.yaml`;
}

/** The lines of a recording in which all is applied. */
export function* recordingLines(): Generator<string> {
  const engine = settledEngine();
  const header: RecordingHeader = {
    ...{ recording: 'fleetrelay', form: 1, at: '2026-01-01T00:00:00Z', version: '0.0.0', fleet: 'bench' },
    revisions: [{ source: 'main', revision: 'a'.repeat(40) }],
  };
  yield `${JSON.stringify(header)}\n`;
  for (const entry of atOnce(captureInputs(engine))) yield `${inputLine(recordedEntry(entry))}\n`;
  yield `${END_LINE}\n`;
}

function settledEngine(): Engine {
  const engine = createEngine(createGraph(), engineDomains);
  const { inputs } = engine;
  inputs.fleet.set('', '', { bounds: BOUNDS, role: 'leader', fleet: 'bench' });
  inputs.sources.set('', 'main', { order: 0, read: true });
  stage(engine, 'fleet/all.yaml', PLACEMENT);
  for (let cluster = 0; cluster < CLUSTERS; cluster += 1) {
    const name = `c${cluster}`;
    stage(engine, `fleet/${name}.yaml`, clusterOf(name));
    inputs.agents.set('', name, AGENT);
    inputs.snapshots.set('', name, { since: SINCE });
  }
  for (let document = 0; document < DOCUMENTS; document += 1)
    stage(engine, pathOf(document), deploymentOf(document, 2));
  engine.commit();
  for (const cluster of [...engine.outputs.partitions()]) {
    for (const { key: text, value } of engine.outputs.entries(cluster)) {
      if (value.type !== 'object') throw new Error(`${text} is ${value.type}`);
      const key = text as ObjectKey;
      const { digest, origins, scope } = value;
      inputs.ledger.set(cluster, key, { digest, origins, scope, phase: 'accepted' });
      inputs.results.set(cluster, key, { key, digest, state: 'applied', reason: '', message: '' });
    }
  }
  engine.commit();
  return engine;
}

const AGENT = {
  ...{ connected: true, since: SINCE, problem: '', warm: true, assumedWarm: false, kindsAsWritten: false },
} as const;

function stage(engine: Engine, path: string, text: string): void {
  stageFile(engine, 'main', path, readingOf(path, text));
}

const PLACEMENT = `apiVersion: fleetrelay.dev/v1alpha1
kind: Placement
metadata: { name: all }
spec:
  paths: ['apps/**']
  clusters: { selector: {} }
`;

function clusterOf(name: string): string {
  return `apiVersion: admin.gloo.solo.io/v2
kind: KubernetesCluster
metadata: { name: ${name}, labels: { env: prod } }
`;
}
