import { expect, it } from 'vitest';
import { createCutWorld } from '../../../../support/cut-world.ts';
import { createFleetWorld } from '../../../../support/fleet-world.ts';
import { base } from '../../../../support/started-world.ts';

const dataplane = `type: Dataplane
mesh: default
name: db-07
networking: { address: 10.0.0.4, inbound: [{ port: 80, tags: { kuma.io/service: web } }] }
`;

function asking({ server }: Awaited<ReturnType<typeof createFleetWorld>>) {
  const question = server.api.questions.find(({ path }) => path === '/dataplanes/:mesh/:name') ?? expect.fail();
  return (name: string) => question.answer({ mesh: 'default', name });
}

it('the API calls no data plane unknown before the sources are read', async () => {
  const world = await createFleetWorld();
  const ask = asking(world);
  expect(ask('db-07')).toMatchObject({ ok: false, kind: 'unavailable' });
  world.source.push({ ...base, 'db-07.yaml': dataplane });
  await world.settle();
  expect(ask('db-07')).toMatchObject({ ok: true, value: { name: 'db-07' } });
  expect(ask('db-08')).toMatchObject({ ok: false, kind: 'notFound' });
});

it('nor while the first revision is committed, which takes turns of the loop', async () => {
  const world = await createCutWorld([1]);
  const ask = asking(world);
  const answers = new Set<string>();
  world.hold();
  world.source.push({ ...base, 'db-07.yaml': dataplane });
  for (let turn = 0; turn < 1_000 && !answers.has('found'); turn += 1) {
    const answer = ask('db-07');
    answers.add(answer.ok ? 'found' : answer.kind);
    world.turn();
  }
  expect([...answers]).toEqual(['unavailable', 'found']);
  expect(ask('db-08')).toMatchObject({ ok: false, kind: 'notFound' });
});
