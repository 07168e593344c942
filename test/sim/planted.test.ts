import { describe, expect, test } from 'vitest';
import type { DocumentContent } from '../../src/model/desired.ts';
import type { SequencedDelta } from '../../src/model/output.ts';
import type { SourceListener } from '../../src/ports/source.ts';
import type { RelayClient, ServerListener } from '../../src/relay/session.ts';
import { playSeed } from './play.ts';
import type { Tampering } from './world.ts';

const SEEDS = 30;

/** Which checkers say something about a world with a fault built in; plays seeds until one does. */
async function caught(tampering: Tampering): Promise<readonly string[]> {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const { violations } = await playSeed(seed, { tampering });
    if (violations.length > 0) return [...new Set(violations.map(({ checker }) => checker))];
  }
  return [];
}

/** A source with something between it and who listens. */
function listening(
  between: (listener: SourceListener, elapsed: () => number) => SourceListener,
): NonNullable<Tampering['source']> {
  return (world, source) => ({
    ...source,
    start: (listener, admitted, remembered) => {
      source.start(between(listener, world.time.elapsed), admitted, remembered);
    },
  });
}

/** An agent that is told something else than the server says. */
function telling(change: (listener: ServerListener) => Partial<ServerListener>): NonNullable<Tampering['client']> {
  return (_world, _cluster, client): RelayClient => ({
    ...client,
    start: (listener) => client.start({ ...listener, ...change(listener) }),
  });
}

function changedDelta(change: (delta: SequencedDelta) => SequencedDelta): NonNullable<Tampering['client']> {
  return telling((listener) => ({ delta: (delta, fleet) => listener.delta(change(delta), fleet) }));
}

function loosened(content: DocumentContent): DocumentContent {
  if (content.type !== 'policy') return content;
  const { policy } = content;
  const guards = {
    ...policy.guards,
    maxRemovalsPerCluster: 1_000,
    maxRemovalsPerFleet: 1_000,
    maxRemovalPercentPerCluster: 100,
    maxRemovalPercentPerFleet: 100,
  };
  return { ...content, policy: { ...policy, guards } };
}

describe('a planted fault is caught', () => {
  test('no wrong deletion: an answer that lacks files calls itself whole', async () => {
    const source = listening((listener, elapsed) => ({
      ...listener,
      observe: (said) => {
        const isLost = (path: string): boolean => path.startsWith('apps/') && elapsed() > 30_000;
        const changes = said.changes.map(({ path, file }) => ({ path, file: isLost(path) ? null : file }));
        listener.observe({ ...said, state: 'whole', changes });
      },
    }));
    expect(await caught({ source })).toContain('no wrong deletion');
  });

  test('no wrong deletion: a file that cannot be read is taken for one that is gone', async () => {
    const source = listening((listener) => ({
      ...listener,
      observe: (said) => {
        const changes = said.changes.map(({ path, file }) => ({ path, file: file?.readable === false ? null : file }));
        listener.observe({ ...said, state: 'whole', changes });
      },
    }));
    expect(await caught({ source })).toContain('no wrong deletion');
  });

  test('no wrong deletion: an agent removes what no delta named', async () => {
    const cluster: Tampering['cluster'] = (_world, { memory }, api) => ({
      ...api,
      apply: async (request) => {
        const [other] = [...memory.objects.values()].filter(({ stamp, key }) => stamp && key !== request.key);
        if (other?.stamp !== undefined) await api.remove({ key: other.key, fleet: other.stamp.fleet });
        return api.apply(request);
      },
    });
    expect(await caught({ cluster })).toContain('no wrong deletion');
  });

  test('guards: a policy is read as if it allowed everything', async () => {
    const source = listening((listener) => ({
      ...listener,
      observe: (said) => {
        const changes = said.changes.map(({ path, file }) => {
          if (file?.readable !== true) return { path, file };
          const documents = file.documents.map((document) => ({ ...document, content: loosened(document.content) }));
          return { path, file: { ...file, documents } };
        });
        listener.observe({ ...said, changes });
      },
    }));
    expect(await caught({ source })).toContain('guards');
  });

  test('no foreign write: an agent writes over what a person has made', async () => {
    const cluster: Tampering['cluster'] = (_world, { memory }, api) => ({
      ...api,
      apply: async (request) => {
        const outcome = await api.apply(request);
        if (outcome.type !== 'conflict') return outcome;
        memory.personRemoves(request.key);
        return api.apply(request);
      },
    });
    expect(await caught({ cluster })).toContain('no foreign write');
  });

  test('monotone revisions: an inventory comes back as it was before', async () => {
    const cluster: Tampering['cluster'] = (_world, _cluster, api) => {
      let saved = 0;
      return {
        ...api,
        saveInventory: async (change) => {
          saved += 1;
          const { epoch, sequence } = change.state.position;
          const position = saved % 5 === 0 ? { epoch: epoch - 1, sequence } : change.state.position;
          return api.saveInventory({ ...change, state: { ...change.state, position } });
        },
      };
    };
    expect(await caught({ cluster })).toContain('monotone revisions');
  });

  test('provenance: an object comes from nowhere', async () => {
    const client = changedDelta((delta) => ({
      ...delta,
      upserts: delta.upserts.map((upsert) => ({ ...upsert, origins: [] })),
    }));
    expect(await caught({ client })).toContain('provenance');
  });

  test('convergence: an agent says that it has written what it has not', async () => {
    const cluster: Tampering['cluster'] = (_world, _cluster, api) => ({
      ...api,
      apply: async (request) => (request.key.endsWith('c1') ? { type: 'unchanged' } : api.apply(request)),
    });
    expect(await caught({ cluster })).toContain('convergence');
  });

  test('status truth: everything is called applied', async () => {
    const sink: Tampering['sink'] = (_world, own) => ({
      ...own,
      update: (changes, summary) => {
        const lies = [...changes].map(
          ([path, text]) => [path, text?.replace(/state: \w+/g, 'state: applied') ?? null] as const,
        );
        own.update(new Map(lies), summary);
      },
    });
    expect(await caught({ sink })).toContain('status truth');
  });

  test('stillness: status tells the time', async () => {
    const sink: Tampering['sink'] = (world, own) => ({
      ...own,
      update: (changes, summary) => {
        const beat = (): void => {
          own.update(
            new Map([['objects/beat.yaml', `object: beat\nstatus: {clusters: []}\nat: ${world.time.elapsed()}\n`]]),
            summary,
          );
          world.time.in(1_000, beat);
        };
        own.update(changes, summary);
        beat();
      },
    });
    expect(await caught({ sink })).toContain('stillness');
  });

  test('memory bounded: something is noted of every revision for ever', async () => {
    const source: Tampering['source'] = (world, own) =>
      listening((listener) => ({
        ...listener,
        observe: (said) => {
          listener.observe(said);
          for (const { life } of world.servers) {
            life()?.server?.engine.inputs.heldRemovals.set('ghost', said.revision, { reason: 'ForEver', message: '' });
          }
        },
      }))(world, own);
    expect(await caught({ source })).toContain('memory bounded');
  });

  test('no defect: what is sent throws', async () => {
    const sink: Tampering['sink'] = (_world, own) => ({
      ...own,
      update: () => {
        throw new TypeError('undefined is not a function');
      },
    });
    expect(await caught({ sink })).toContain('no defect');
  });
}, 120_000);
