import { describe, expect, test } from 'vitest';
import { type AgentManifestOptions, agentManifests } from '../../../src/compose/manifests/agent-manifests.ts';
import { AGENT_ACCESS } from '../../../src/compose/manifests/agent-rights.ts';
import { noProgram } from '../../support/programs.ts';
import { CA } from './releases.ts';
import { type Manifest, renderChart } from './rendering.ts';

/** `cluster register` and the chart install the same agent for the same values, object by object. */

const SERVER = 'relay.example.com:9900';
const PLACE = { cluster: 'east', server: SERVER, namespace: 'fleetrelay', image: 'fleetrelay:0.1.0' };
const CHOICES = AGENT_ACCESS.filter((access) => access !== 'cluster-admin');

/** What a person chooses, as options of the manifests and as values of the chart. */
const CASES: readonly (readonly [name: string, options: Partial<AgentManifestOptions>, values: object])[] = [
  ['as little as can be said', { writable: ['web'] }, { rbac: { namespaces: ['web'] } }],
  [
    'every choice in two Namespaces',
    { writable: ['web', 'shop'], access: CHOICES, accessNamespaces: { care: ['kube-system', 'shoot--web--blue'] } },
    { rbac: { ...chosen(), namespaces: ['web', 'shop'], careNamespaces: ['kube-system', 'shoot--web--blue'] } },
  ],
  [
    'every choice in all Namespaces',
    { writable: 'all', access: CHOICES },
    { rbac: { ...chosen(), allNamespaces: true } },
  ],
  [
    'an administrator',
    { writable: 'all', access: ['cluster-admin'] },
    { rbac: { allNamespaces: true, clusterAdmin: true } },
  ],
  ['the webhook', { writable: ['web'], webhook: true }, { rbac: { namespaces: ['web'] }, webhook: { enabled: true } }],
  [
    'the Namespaces of other servers',
    { writable: ['web'], serverNamespaces: ['a', 'b'] },
    { rbac: { namespaces: ['web'] }, admissionPolicy: { namespaces: ['a', 'b'] } },
  ],
  [
    'another port of the server, and no authority',
    { writable: ['web'], server: 'relay.example.com:443', ca: undefined },
    { rbac: { namespaces: ['web'] }, relay: { serverAddress: 'relay.example.com:443', token: 't' } },
  ],
];

function chosen(): Readonly<Record<string, true>> {
  return Object.fromEntries(CHOICES.map((choice) => [choice, true]));
}

/** A difference that is meant: `of` is changed before the two are compared; undefined: the object is left out. */
interface Meant {
  readonly why: string;
  readonly of: 'chart' | 'command';
  readonly change: (object: Manifest) => Manifest | undefined;
}

const HELM_LABELS = /^(helm\.sh\/chart|app\.kubernetes\.io\/(instance|managed-by|version))$/;

const MEANT: readonly Meant[] = [
  {
    why: 'Helm and people find the parts of a release by its labels, and selectors keep two releases apart',
    of: 'chart',
    change: (object) => without(object, (name) => HELM_LABELS.test(name)),
  },
  {
    why: 'the names of all objects of a release begin with its name',
    of: 'command',
    change: (object) =>
      JSON.parse(JSON.stringify(object).replaceAll('"fleetrelay-relay-ca"', '"fleetrelay-agent-relay-ca"')),
  },
  {
    why: 'a release may share its Namespace: it neither makes that nor shuts it for others',
    of: 'command',
    change: (object) =>
      object.kind === 'Namespace' || object.metadata.name.endsWith('-default-deny') ? undefined : object,
  },
  {
    why: 'Helm takes back only what it has said itself, so it says the strategy that is the default',
    of: 'chart',
    change: (object) => (object.kind === 'Deployment' ? without(object, (name) => name === 'strategy') : object),
  },
  {
    why: 'values name the keys of the token and of the authority',
    of: 'chart',
    change: (object) => (object.kind === 'Deployment' ? without(object, (name) => name === 'items') : object),
  },
  ...(['chart', 'command'] as const).map((of) => ({
    why: 'the digest is made of the values here, of the options there',
    of,
    change: (object: Manifest) => without(object, (name) => name === 'fleetrelay.dev/settings-digest'),
  })),
  {
    why: 'Helm compares what it has rendered with what is live, where a Secret has no stringData',
    of: 'chart',
    change: ({ type: _, ...object }) =>
      object.kind === 'Secret' && object.data !== undefined
        ? { ...object, data: undefined, stringData: decoded(object.data) }
        : object,
  },
  {
    why: 'the agent protects its own Namespace anyway; a chart cannot leave the list of Namespaces empty',
    of: 'chart',
    change: (object) =>
      object.kind === 'ValidatingAdmissionPolicy'
        ? JSON.parse(
            JSON.stringify(object).replace(`, '${PLACE.namespace}'] || variables.place`, '] || variables.place'),
          )
        : object,
  },
];

/** A copy without the members that have such a name, at any depth. */
function without(value: Manifest, isLeftOut: (name: string) => boolean): Manifest {
  const copy = JSON.stringify(value, (name, member: unknown) => (isLeftOut(name) ? undefined : member));
  return JSON.parse(copy) as Manifest;
}

function decoded(data: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text, 'base64').toString()]));
}

/** The objects by kind, Namespace and name, with the differences that are meant taken away. Throws if two are the same object. */
function comparable(objects: readonly Manifest[], of: Meant['of']): Readonly<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const given of objects) {
    const changes = MEANT.filter((meant) => meant.of === of);
    const object = changes.reduce<Manifest | undefined>((each, { change }) => each && change(each), given);
    if (object === undefined) continue;
    const name = `${object.kind} ${object.metadata.namespace ?? ''}/${object.metadata.name}`;
    if (name in found) throw new Error(`${name} is there twice`);
    found[name] = JSON.parse(JSON.stringify(object));
  }
  return found;
}

describe.skipIf(noProgram('helm'))('the chart of the agent and cluster register install the same:', () => {
  test.for(CASES)('%s', async ([, options, { ...values }]) => {
    const byCommand = agentManifests({ ...PLACE, token: 't', ca: CA, writable: [], ...options });
    const byChart = await renderChart('fleetrelay-agent', {
      name: 'fleetrelay-agent',
      namespace: PLACE.namespace,
      values: { cluster: PLACE.cluster, relay: { serverAddress: SERVER, token: 't', rootCA: CA }, ...values },
    });
    const command = comparable(byCommand as unknown as readonly Manifest[], 'command');
    const chart = comparable(byChart, 'chart');
    expect(Object.keys(command).length).toBeGreaterThan(15);
    expect(Object.keys(chart).sort()).toEqual(Object.keys(command).sort());
    expect(chart).toEqual(command);
  });
});
