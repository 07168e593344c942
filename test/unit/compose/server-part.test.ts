import { expect, it } from 'vitest';
import { createDomainParts } from '../../../src/compose/serve/domain-parts.ts';
import type { RunningPart, ServedDomain, ServerPart } from '../../../src/compose/serve/server-part.ts';
import type { Input } from '../../../src/engine/collections/types.ts';
import type { Domain, DomainParts } from '../../../src/engine/domain.ts';
import type { SharedRecord } from '../../../src/runtime/ledger/records.ts';
import { fields, isText } from '../../../src/runtime/ledger/shapes.ts';
import { createSharedInput } from '../../../src/runtime/shared-input.ts';
import { createRecordingLog } from '../../support/agent-log.ts';
import { apiFetch } from '../../support/api-fetch.ts';
import { createFleetWorld, type FleetWorld } from '../../support/fleet-world.ts';
import { createReplicaWorld, type FakeReplica } from '../../support/replica-world.ts';
import { runServer } from '../../support/running-server.ts';
import { fakeApi } from '../../support/server-api.ts';
import { abc, base, names, startedWorld } from '../../support/started-world.ts';

type Note = { readonly text: string };

interface NoteParts extends DomainParts {
  readonly notes: Input<Note>;
}

/** A domain of this test alone: people leave notes by name. */
const noting: Domain<NoteParts> = {
  name: 'notes',
  readsLive: {},
  derive: (graph) => ({ notes: graph.input<Note>('notes'), collections: { bySource: [], anywhere: [] } }),
};

const records: SharedRecord = { prefix: 'notes/', shape: fields({ text: isText }) };

/** `said`: what the part is told to do. */
function notesServer(said: string[]): ServerPart<number> {
  return {
    records: [records],
    metrics: [
      { name: 'fleetrelay_notes', type: 'gauge', labels: [], help: 'Notes of people.', read: (count: number) => count },
    ],
    create: (core): RunningPart<number> => {
      const input = core.engine.reported(noting)?.parts.notes ?? expect.fail();
      const notes = createSharedInput<Note, Note>(core, records, { input, staged: (note) => note });
      const unfollow = notes.follow();
      return {
        acts: [
          {
            path: '/notes/:name',
            needed: { text: 20 },
            run: async ({ name = '', text = '' }) => {
              notes.set(name, { text });
              return { ok: true, value: { name, text }, receipt: notes.receipt(name) };
            },
          },
        ],
        questions: [
          {
            path: '/notes/:name',
            answer: ({ name = '' }) => {
              const value = input.get('', name);
              return value === undefined ? { ok: false, kind: 'notFound', message: `no ${name}` } : { ok: true, value };
            },
          },
        ],
        figures: () => [...notes.entries()].length,
        start: async () => {
          said.push('start');
          return { notes: { host: '127.0.0.1', port: 9 } };
        },
        lead: (leads) => void said.push(`leads: ${leads}`),
        stop: async () => {
          said.push('stop');
          await unfollow();
        },
      };
    },
  };
}

/** The answers of the API of this server over HTTP. */
async function over({ server }: FleetWorld, requests: readonly (readonly [path: string, body?: object])[]) {
  const { acts, questions } = server.api;
  const http = await runServer({ api: { ...fakeApi(), acts, questions } });
  const answers = [];
  for (const [path, body] of requests) {
    const headers = { 'Content-Type': 'application/json' };
    const request = body === undefined ? {} : { method: 'POST', headers, body: JSON.stringify(body) };
    const response = await apiFetch(`${http.url}/api/v1${path}`, request);
    answers.push([response.status, await response.json()]);
  }
  const audited = (await http.acts()).map(({ stage, act }) => `${stage} ${act}`);
  await http.stop();
  return { answers, audited };
}

it('a management server without domains sends outputs, answers and ends', async () => {
  const world = await startedWorld(base, { domains: [] });
  expect(names(world, 'east')).toEqual(abc);
  const { api } = world.server;
  expect([api.acts, api.questions, [...world.server.samples()]]).toEqual([[], [], []]);
  expect(api.status()).toMatchObject({ ready: true, summary: 'applied by 2 of 2 clusters' });
  expect(api.view('shoots', {})).toMatchObject({ ok: false, kind: 'notFound' });
  await world.server.stop();
});

it('a domain adds a record, an act, a question, a metric and a listener, and its records outlast a restart', async () => {
  const said: string[] = [];
  const domains: readonly ServedDomain[] = [{ engine: noting, server: notesServer(said) }];
  const world = await startedWorld(base, { domains });
  expect(said).toEqual(['start', 'leads: true']);
  const { answers, audited } = await over(world, [
    ['/notes/roses'],
    ['/notes/roses', { text: 'water' }],
    ['/notes/roses'],
    ['/notes/roses', {}],
    ['/notes/roses', { text: 'x'.repeat(21) }],
  ]);
  expect(answers).toEqual([
    [404, { error: { reason: 'NotFound', message: 'no roses' } }],
    [200, { name: 'roses', text: 'water' }],
    [200, { text: 'water' }],
    [400, { error: { reason: 'Invalid', message: expect.stringContaining('text') } }],
    [400, { error: { reason: 'Invalid', message: expect.stringContaining('text') } }],
  ]);
  const refused = ['asked notes/roses', 'refused notes/roses'];
  expect(audited).toEqual(['asked notes/roses', 'done notes/roses', ...refused, ...refused]);
  expect(world.server.samples()).toEqual(new Map([['fleetrelay_notes', 1]]));
  await world.server.stop();
  expect(said.at(-1)).toBe('stop');

  const again = await createFleetWorld({ store: world.store, clock: world.clock, domains });
  expect(again.server.samples()).toEqual(new Map([['fleetrelay_notes', 1]]));
  expect((await over(again, [['/notes/roses']])).answers).toEqual([[200, { text: 'water' }]]);
});

it('of several servers the leader does the acts of a domain, and all know its records', async () => {
  const world = await createReplicaWorld([]);
  const told = new Map<string, string[]>();
  for (const id of ['a', 'b']) {
    const said: string[] = [];
    told.set(id, said);
    await world.add(id, { domains: [{ engine: noting, server: notesServer(said) }] });
  }
  world.push(base);
  await world.pass();
  const leader = world.leader();
  const [follower = expect.fail()] = world.followers();
  expect([told.get(leader.id), told.get(follower.id)]).toEqual([['start', 'leads: true'], ['start']]);
  const leave = ({ world: { server } }: FakeReplica) =>
    server.api.acts[0]?.run({ name: 'roses', text: 'water' }, 'ann');
  expect(await leave(follower)).toMatchObject({ ok: false, kind: 'notLeader', leader: `http://${leader.id}` });
  expect(await leave(leader)).toMatchObject({ ok: true });
  await world.pass();
  for (const { world: each } of world.replicas) {
    expect(each.server.samples()).toEqual(new Map([['fleetrelay_notes', 1]]));
  }
});

/** A domain that adds this part to a server, and nothing to its engine. */
function domainWith(name: string, part: RunningPart): ServedDomain {
  const derive = () => ({ collections: { bySource: [], anywhere: [] } });
  return { engine: { name, readsLive: {}, derive }, server: { create: () => part } };
}

const defect = (): never => {
  throw new Error('a defect');
};

it.each([
  ['throws', defect],
  ['rejects', () => Promise.reject(new Error('a defect'))],
])('a domain whose end %s keeps neither the others nor the server from ending', async (_, stop) => {
  const said: string[] = [];
  const log = createRecordingLog();
  const domains = [domainWith('failing', { stop }), { engine: noting, server: notesServer(said) }];
  const world = await startedWorld(base, { domains, log });
  await over(world, [['/notes/roses', { text: 'water' }]]);
  await world.server.stop();
  expect(said.at(-1)).toBe('stop');
  expect(log.lines.map(({ text }) => text)).toContain('error: a domain has not ended well');
  const again = await createFleetWorld({ store: world.store, clock: world.clock, domains });
  expect(again.server.samples()).toEqual(new Map([['fleetrelay_notes', 1]]));
});

it('a domain that cannot start is told to end with the others, and no domain after it starts', async () => {
  const said: string[] = [];
  const noteStop = (name: string) => async () => said.push(`stop ${name}`);
  const start = async () => {
    said.push('start');
    return {};
  };
  const domains = [
    domainWith('first', { start, stop: noteStop('first') }),
    domainWith('failing', { start: async () => defect(), stop: noteStop('failing') }),
    domainWith('later', { start, stop: noteStop('later') }),
  ];
  const core = { log: createRecordingLog() } as unknown as Parameters<typeof createDomainParts>[1];
  const parts = createDomainParts({ domains }, core, () => true);
  await expect(parts.start()).rejects.toThrow('a defect');
  await parts.stop();
  expect(said).toEqual(['start', 'stop first', 'stop failing', 'stop later']);
});
