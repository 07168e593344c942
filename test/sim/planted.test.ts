import { describe, expect, test } from 'vitest';
import type { Engine } from '../../src/engine/graph.ts';
import type { DocumentContent, GuardLimits } from '../../src/model/fleet/desired.ts';
import type { SequencedDelta } from '../../src/model/fleet/output.ts';
import type { SourceListener } from '../../src/ports/source.ts';
import type { RelayClient, ServerListener } from '../../src/relay/session.ts';
import { playSeed } from './play.ts';
import type { Tampering, World } from './world.ts';

const SEEDS = 30;

/**
 * Which checkers report a world with a fault built in. Plays seeds until one does, or until `by` does: a fault may show in
 * several ways. `from` is the seed that was seen to show it; a change of the simulation may make it a later one.
 */
async function caught(tampering: Tampering, from = 1, by?: string): Promise<readonly string[]> {
  const found = new Set<string>();
  const isOver = (): boolean => (by === undefined ? found.size > 0 : found.has(by));
  for (let seed = from; seed < from + SEEDS && !isOver(); seed += 1) {
    for (const { checker } of (await playSeed(seed, { tampering, hostile: 'never' })).violations) found.add(checker);
  }
  return [...found];
}

/** A source with something between it and its listener. */
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

/** Policies are read as if they stated these limits. */
function loosened(limits: Partial<GuardLimits>): NonNullable<Tampering['source']> {
  const asRead = (content: DocumentContent): DocumentContent => {
    if (content.type !== 'declaration' || content.kind !== 'FleetPolicy') return content;
    const { value } = content;
    return { ...content, value: { ...value, guards: { ...value.guards, ...limits } } };
  };
  return listening((listener) => ({
    ...listener,
    observe: (said) => {
      const changes = said.changes.map(({ path, file }) => {
        if (file?.readable !== true) return { path, file };
        const documents = file.documents.map((document) => ({ ...document, content: asRead(document.content) }));
        return { path, file: { ...file, documents } };
      });
      listener.observe({ ...said, changes });
    },
  }));
}

const NO_COUNTS = { maxRemovalsPerCluster: 1_000, maxRemovalsPerFleet: 1_000 };
const NO_PERCENTAGES = { maxRemovalPercentPerCluster: 100, maxRemovalPercentPerFleet: 100 };

/** Applies a fault to a server's engine again and again. */
function nagging(act: (engine: Engine, world: World) => void): NonNullable<Tampering['source']> {
  return (world, own) => ({
    ...own,
    start: (listener, admitted, remembered) => {
      const again = (): void => {
        for (const { life } of world.servers) {
          const engine = life()?.server?.engine;
          if (engine !== undefined) act(engine, world);
        }
        world.time.in(200, again);
      };
      again();
      own.start(listener, admitted, remembered);
    },
  });
}

describe('a planted fault is caught', () => {
  test('no wrong deletion: an answer that lacks files calls itself complete', async () => {
    const source = listening((listener, elapsed) => ({
      ...listener,
      observe: (said) => {
        const isLost = (path: string): boolean => path.startsWith('apps/') && elapsed() > 30_000;
        const changes = said.changes.map(({ path, file }) => ({ path, file: isLost(path) ? null : file }));
        listener.observe({ ...said, state: 'complete', changes });
      },
    }));
    expect(await caught({ source })).toContain('no wrong deletion');
  });

  test('no wrong deletion: a file that cannot be read is taken for one that is gone', async () => {
    const source = listening((listener) => ({
      ...listener,
      observe: (said) => {
        const changes = said.changes.map(({ path, file }) => ({ path, file: file?.readable === false ? null : file }));
        listener.observe({ ...said, state: 'complete', changes });
      },
    }));
    expect(await caught({ source }, 6)).toContain('no wrong deletion');
  });

  test('no wrong deletion: an agent removes what no delta named', async () => {
    const cluster: Tampering['cluster'] = (_world, { memory }, api) => ({
      ...api,
      apply: async (request) => {
        const [other] = [...memory.objects.values()].filter(({ stamp, key }) => stamp && key !== request.key);
        if (other?.stamp !== undefined) await api.remove(other.stamp);
        return api.apply(request);
      },
    });
    expect(await caught({ cluster })).toContain('no wrong deletion');
  });

  test('guards: a policy is read as if it allowed everything', async () => {
    expect(await caught({ source: loosened({ ...NO_COUNTS, ...NO_PERCENTAGES }) })).toContain('guards');
  });

  test('guards: percentages are overlooked', async () => {
    expect(await caught({ source: loosened(NO_PERCENTAGES) }, 11)).toContain('guards');
  });

  test('guards: percentages of the fleet are overlooked', async () => {
    expect(await caught({ source: loosened({ maxRemovalPercentPerFleet: 100 }) }, 11)).toContain('guards');
  });

  test('guards: what went a moment ago is not remembered', async () => {
    const source = nagging(({ inputs }) => {
      for (const { key } of [...inputs.recentRemovals.entries('')]) inputs.recentRemovals.delete('', key);
    });
    expect(await caught({ source }, 33)).toContain('guards');
  });

  test('lasting holds: what a push loosens counts before it is judged what the push removes', async () => {
    const source: Tampering['source'] = (world, own) =>
      listening((listener) => ({
        ...listener,
        observe: (said) => {
          const isPolicy = ({ path }: { readonly path: string }): boolean => path === 'fleet/policy.yaml';
          const rest = said.changes.filter((change) => !isPolicy(change));
          if (rest.length === said.changes.length) return listener.observe(said);
          listener.observe({ ...said, changes: said.changes.filter(isPolicy) });
          world.time.in(20, () => listener.observe({ ...said, changes: rest }));
        },
      }))(world, own);
    expect(await caught({ source }, 81, 'lasting holds')).toContain('lasting holds');
  });

  test('approvals: a file that has let something go lets go what is held next', async () => {
    const source: Tampering['source'] = (world, own) => {
      world.listen((event) => {
        const by = event.type === 'log' ? String(event.line.data.by) : '';
        if (!by.includes('RemovalApproval') || by.includes('again')) return;
        const again = (): void => {
          for (const { life } of world.servers) {
            const api = life()?.server?.api;
            for (const { digest } of api?.removals() ?? []) void api?.approve(digest, `again ${by}`);
          }
          world.time.in(1_000, again);
        };
        world.time.in(1_000, again);
      });
      return own;
    };
    expect(await caught({ source }, 18, 'approvals')).toContain('approvals');
  });

  test.each([
    { kind: 'cluster', from: 19 },
    { kind: 'source', from: 2 },
  ] as const)('suspensions: a $kind is resumed without a request', async ({ kind, from }) => {
    const source: Tampering['source'] = (world, own) => {
      world.listen((event) => {
        if (event.type !== 'suspended' || event.what !== kind) return;
        for (const { life } of world.servers) {
          const api = life()?.server?.api;
          void (kind === 'cluster' ? api?.resumeCluster(event.name, '') : api?.resumeSource(event.name, ''));
        }
      });
      return own;
    };
    expect(await caught({ source }, from, 'suspensions')).toContain('suspensions');
  });

  test('history: a record of the log goes missing', async () => {
    const source: Tampering['source'] = (world, own) => {
      world.listen((event) => {
        if (event.type !== 'taken') return;
        world.time.in(5_000, () => {
          const log = world.memory.keys().filter((key) => key.startsWith(`history/${event.cluster.name}/`));
          for (const key of log.slice(-1)) world.memory.evict(key);
        });
      });
      return own;
    };
    expect(await caught({ source }, 3, 'history')).toContain('history');
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
    expect(await caught({ cluster }, 13)).toContain('no foreign write');
  });

  test('monotone revisions: an inventory is restored to an earlier state', async () => {
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
    expect(await caught({ cluster }, 3)).toContain('convergence');
  });

  test('status truth: everything is called applied', async () => {
    const sink: Tampering['sink'] = (_world, own) => ({
      ...own,
      update: (changes, summary, published) => {
        const lies = [...changes].map(
          ([path, text]) => [path, text?.replace(/state: \w+/g, 'state: applied') ?? null] as const,
        );
        own.update(new Map(lies), summary, published);
      },
    });
    expect(await caught({ sink }, 2)).toContain('status truth');
  });

  test('stillness: status tells the time', async () => {
    const sink: Tampering['sink'] = (world, own) => ({
      ...own,
      update: (changes, summary, published) => {
        const beat = (): void => {
          own.update(
            new Map([['objects/beat.yaml', `object: beat\nstatus: {clusters: []}\nat: ${world.time.elapsed()}\n`]]),
            summary,
            () => undefined,
          );
          world.time.in(1_000, beat);
        };
        own.update(changes, summary, published);
        beat();
      },
    });
    expect(await caught({ sink })).toContain('stillness');
  });

  test('total loss: agents do not say where what they hold comes from', async () => {
    const client = telling((listener) => ({
      holding: () => {
        const holding = listener.holding();
        return { ...holding, entries: holding.entries.map((entry) => ({ ...entry, origins: [] })) };
      },
    }));
    expect(await caught({ client }, 4, 'total loss')).toContain('total loss');
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

  test('plan: a server sends more than its revision explains', async () => {
    const source: Tampering['source'] = (world, own) => {
      world.listen((event) => {
        if (event.type !== 'observed') return;
        const ledger = world.servers[0]?.life()?.server?.engine.inputs.ledger;
        for (const cluster of [...(ledger?.partitions() ?? [])]) {
          const [first] = ledger?.entries(cluster) ?? [];
          if (first !== undefined) ledger?.delete(cluster, first.key);
        }
      });
      return own;
    };
    expect(await caught({ source }, 9, 'plan')).toContain('plan');
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
});
