import { expect, it } from 'vitest';
import { createGraph } from '../../../src/engine/collections/graph.ts';
import { type Deadline, hasPassed } from '../../../src/engine/deadlines.ts';
import type { Domain, EngineDiagnostic } from '../../../src/engine/domain.ts';
import { type Declared, declaredOf } from '../../../src/engine/fleet/declared.ts';
import { documentKey } from '../../../src/engine/fleet/sources.ts';
import { createEngine, type Engine } from '../../../src/engine/graph.ts';
import type { Want } from '../../../src/engine/placement/wants.ts';
import type { StatusPart } from '../../../src/engine/status/declared-status.ts';
import { engineDiagnostics } from '../../../src/engine/status/diagnostics.ts';
import { defaultFleetPolicy } from '../../../src/model/fleet/fleet-policy.ts';
import { objectKey } from '../../../src/model/objects/object-key.ts';
import { objectDigest } from '../../../src/model/text/digest.ts';
import { documentsOf } from '../../support/decoding.ts';

/**
 * A domain of this test alone: each Shoot gets a ConfigMap in the cluster `seed`, with the owner that the input `owners` names,
 * and is late from a moment on.
 */
const LATE_AT = 1_000;
const noteOf = (name: string) => objectKey({ group: '', kind: 'ConfigMap', namespace: 'notes', name });

const notes: Domain = {
  name: 'notes',
  readsLive: {},
  settings: ({ guards }) => guards.windowSeconds,
  derive: (graph, { declarations, inputs, settings }) => {
    const shoots = declaredOf(declarations, 'Shoot');
    const owners = graph.input<string>('owners');
    const wants = graph.derive<Declared<'Shoot'>, Want>({
      name: 'noteWants',
      ...shoots,
      reads: [settings, owners],
      compute: ({ value: { name, origin, identity } }, read, emit) => {
        const owner = read.get(owners, '', name);
        const data = { window: String(read.get(settings, '', '')), ...(owner === undefined ? {} : { owner }) };
        const value = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'notes' }, data };
        const want = { key: noteOf(name), value, digest: objectDigest(value), clusters: ['seed'] };
        emit(origin.source, documentKey(origin.path, identity), {
          ...{ ...want, origin, identity, scope: [], scopeUnknown: false },
        });
      },
    });
    const deadlines = graph.derive<Declared<'Shoot'>, Deadline>({
      name: 'noteDeadlines',
      ...shoots,
      compute: ({ key }, _read, emit) => emit('notes', key, { at: LATE_AT }),
    });
    return {
      collections: { bySource: [wants], anywhere: [deadlines] },
      inputs: { owners },
      makes: { wants: [wants] },
      deadlines: [deadlines],
      report: ({ progress }) => ({
        statuses: graph.derive<Declared<'Shoot'>, StatusPart>({
          name: 'noteStatuses',
          ...shoots,
          reads: [progress, inputs.elapsed],
          compute: ({ partition, key, value: { name } }, read, emit) => {
            const state = read.get(progress, 'seed', noteOf(name))?.state ?? 'missing';
            const isLate = state !== 'applied' && hasPassed(read, inputs.elapsed, 'notes', key, LATE_AT);
            const status = state === 'applied' ? 'True' : 'False';
            const condition = { type: 'Noted', status, reason: isLate ? 'Late' : 'InTime', message: state } as const;
            emit(partition, key, { conditions: [condition], fields: { note: name } });
          },
        }),
        shows: {
          diagnostics: () =>
            [...declarations.entries('Shoot')].flatMap(({ value: { name, origin, identity } }): EngineDiagnostic[] => {
              const at = [{ ...origin, identity, field: ['metadata', 'name'] }];
              return name === 'weeds'
                ? [{ severity: 'warning', reason: 'BadName', message: 'no notes on weeds', at }]
                : [];
            }),
          views: { notes: () => [...declarations.entries('Shoot')].map(({ value: { name } }) => ({ name })) },
        },
      }),
    };
  },
};

const files: Readonly<Record<string, string>> = {
  'seed.yaml': 'apiVersion: admin.gloo.solo.io/v2\nkind: KubernetesCluster\nmetadata: {name: seed}\n',
  'shoot.yaml':
    'apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nmetadata: {name: roses, namespace: garden-a}\nspec: {}\n',
};

function stage({ inputs }: Engine, path: string, text: string): void {
  const documents = documentsOf(text, path).map(({ identity, content }) => ({ identity, content }));
  inputs.files.set('main', path, { readable: true, documents, findings: [] });
}

function started(): Engine {
  const engine = createEngine(createGraph(), [notes]);
  engine.inputs.fleet.set('', '', { bounds: { guards: {}, safeModes: [], webhookRemediator: false }, role: 'leader' });
  engine.inputs.sources.set('', 'main', { order: 0, read: true });
  for (const [path, text] of Object.entries(files)) stage(engine, path, text);
  engine.commit();
  return engine;
}

const noted = ({ statuses }: Engine) =>
  statuses.get('Shoot', 'garden-a/roses')?.conditions.find(({ type }) => type === 'Noted');

it('derives an object from a declaration and the part of the policy that it reads', () => {
  const engine = started();
  const output = engine.outputs.get('seed', noteOf('roses'));
  const window = String(defaultFleetPolicy.guards.windowSeconds);
  expect(output).toMatchObject({ type: 'object', origins: [{ source: 'main', path: 'shoot.yaml' }], scope: [] });
  expect(output?.type === 'object' && output.value.data).toEqual({ window });
});

it('derives a status that follows the progress of its object', () => {
  const engine = started();
  expect(noted(engine)).toMatchObject({ status: 'False', reason: 'InTime', message: 'unreachable' });
  const output = engine.outputs.get('seed', noteOf('roses'));
  if (output?.type !== 'object') throw new Error('there is no object');
  const { digest, origins, scope } = output;
  engine.inputs.ledger.set('seed', noteOf('roses'), { digest, origins, scope, phase: 'accepted' });
  const result = { key: noteOf('roses'), digest, state: 'applied', reason: '', message: '' } as const;
  engine.inputs.results.set('seed', noteOf('roses'), result);
  engine.commit();
  expect(noted(engine)).toMatchObject({ status: 'True', message: 'applied' });
  expect(engine.statuses.get('Shoot', 'garden-a/roses')?.fields).toEqual({ note: 'roses' });
});

it('waits for a deadline, and changes the status when it has passed', () => {
  const engine = started();
  expect(engine.deadlines.get('notes', 'garden-a/roses')).toEqual({ at: LATE_AT });
  engine.inputs.elapsed.set('notes', 'garden-a/roses', LATE_AT - 1);
  engine.commit();
  expect(noted(engine)?.reason).toBe('InTime');
  engine.inputs.elapsed.set('notes', 'garden-a/roses', LATE_AT);
  engine.commit();
  expect(noted(engine)?.reason).toBe('Late');
});

it('reports findings of its own, at the value at fault', () => {
  const engine = started();
  expect(engineDiagnostics(engine)).toEqual([]);
  stage(engine, 'shoot.yaml', files['shoot.yaml']?.replace('roses', 'weeds') ?? '');
  engine.commit();
  const at = { source: 'main', path: 'shoot.yaml', identity: 'core.gardener.cloud/Shoot/garden-a/weeds' };
  expect(engineDiagnostics(engine)).toMatchObject([
    { message: 'no notes on weeds', at: [{ ...at, field: ['metadata', 'name'] }] },
  ]);
});

it('derives from an input of its own, which is staged by the name of the domain', () => {
  const engine = started();
  const noteData = () => {
    const output = engine.outputs.get('seed', noteOf('roses'));
    return output?.type === 'object' ? output.value.data : undefined;
  };
  const window = String(defaultFleetPolicy.guards.windowSeconds);
  engine.domainInputs.notes?.owners?.set('', 'roses', 'ada');
  expect(noteData()).toEqual({ window });
  engine.commit();
  expect(noteData()).toEqual({ window, owner: 'ada' });
  engine.domainInputs.notes?.owners?.drop('');
  engine.commit();
  expect(noteData()).toEqual({ window });
});

it('leaves nothing behind when its declaration is deleted', () => {
  const engine = started();
  engine.inputs.files.delete('main', 'shoot.yaml');
  engine.commit();
  expect(engine.outputs.get('seed', noteOf('roses'))).toBeUndefined();
  expect(engine.statuses.get('Shoot', 'garden-a/roses')).toBeUndefined();
  expect(engine.deadlines.size('notes')).toBe(0);
});
