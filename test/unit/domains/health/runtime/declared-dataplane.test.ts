import { expect, it } from 'vitest';
import { createFleetWorld } from '../../../../support/fleet-world.ts';
import { base } from '../../../../support/started-world.ts';

const dataplane = `type: Dataplane
mesh: default
name: db-07
networking: { address: 10.0.0.4, inbound: [{ port: 80, tags: { kuma.io/service: web } }] }
`;

it('the API calls no data plane unknown before the sources are read', async () => {
  const world = await createFleetWorld();
  const { questions } = world.server.api;
  const question = questions.find(({ path }) => path === '/dataplanes/:mesh/:name') ?? expect.fail();
  const ask = (name: string) => question.answer({ mesh: 'default', name });
  expect(ask('db-07')).toMatchObject({ ok: false, kind: 'unavailable' });
  world.source.push({ ...base, 'db-07.yaml': dataplane });
  await world.settle();
  expect(ask('db-07')).toMatchObject({ ok: true, value: { name: 'db-07' } });
  expect(ask('db-08')).toMatchObject({ ok: false, kind: 'notFound' });
});
