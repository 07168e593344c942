import type { MemoryCopy } from '../../support/shared-memory-store.ts';
import type { Dice } from '../core/dice.ts';
import type { World } from '../world.ts';
import type { SimAgent } from './agent.ts';
import { STATUS_BRANCH } from './server.ts';

/** What may go wrong in a world, and how it ends. */
export interface Faults {
  /** Injects one fault; returns its kind in a word. */
  strike(): string;
  /** Mends every fault and restarts every process that has ended. */
  mend(): void;
}

interface Scene {
  readonly world: World;
  readonly dice: Dice;
  readonly agent: SimAgent;
  /** Ends it after a while. */
  later(mend: () => void): void;
  copy: MemoryCopy | undefined;
}

export function createFaults(world: World): Faults {
  const dice = world.dice.fork('faults');
  let copy: MemoryCopy | undefined;
  const kinds = Object.entries(FAULTS).flatMap(([kind, { weight }]) => Array.from({ length: weight }, () => kind));
  return {
    strike: () => {
      const kind = dice.pick(kinds);
      const agent = dice.pick(world.agents);
      world.note(`fault ${kind} (${agent.cluster.name})`);
      const scene: Scene = {
        world,
        dice,
        agent,
        later: (mend) => void world.time.in(500 + dice.int(dice.chance(0.2) ? 120_000 : 15_000), mend),
        copy,
      };
      FAULTS[kind]?.strike(scene);
      copy = scene.copy;
      return kind;
    },
    mend: () => mendAll(world),
  };
}

function mendAll({ network, agents, servers, memory, lease, gitWeather, storeWeather }: World): void {
  lease.problem = undefined;
  for (const wire of network.wires()) wire.cut();
  memory.up();
  memory.swallowReplies(0);
  memory.refusing = undefined;
  storeWeather.latencyMs = 2;
  Object.assign(gitWeather, { latencyMs: 5, failing: undefined, lostAnswers: 0, damagedCopies: 0 });
  for (const { cluster, disk, weather, life, start } of agents) {
    Object.assign(weather, { latencyMs: 1, jitterMs: 3, reachable: true });
    Object.assign(cluster.weather, { latencyMs: 2, failingWrites: 0, unreadable: false, full: false, lostHints: 0 });
    cluster.memory.pause(false);
    disk.full(false);
    life()?.process.goOn();
    start();
  }
  for (const { life, start } of servers) {
    life()?.process.goOn();
    start();
  }
}

const GIT_REASONS = ['Unreachable', 'Unauthorized', 'RepositoryNotFound', 'BadObjects', 'TimedOut'] as const;

const FAULTS: Readonly<Record<string, { readonly weight: number; readonly strike: (scene: Scene) => void }>> = {
  'network: slow': {
    weight: 4,
    strike: ({ agent: { weather }, dice, later }) => {
      Object.assign(weather, { latencyMs: dice.int(2_000), jitterMs: dice.int(3_000) });
      later(() => Object.assign(weather, { latencyMs: 1, jitterMs: 3 }));
    },
  },
  'network: cut': {
    weight: 4,
    strike: ({ world, agent }) => {
      for (const wire of wiresOf(world, agent)) wire.cut();
    },
  },
  'network: half-open': {
    weight: 4,
    strike: ({ world, agent, dice }) => {
      const directions = dice.pick([
        { up: true, down: false },
        { up: false, down: true },
        { up: true, down: true },
      ]);
      for (const wire of wiresOf(world, agent)) if (dice.chance(0.8)) wire.freeze(directions);
    },
  },
  'network: unreachable': {
    weight: 3,
    strike: ({ world, agent: { weather }, agent, dice, later }) => {
      weather.reachable = false;
      if (dice.chance(0.7)) for (const wire of wiresOf(world, agent)) wire.cut();
      later(() => {
        weather.reachable = true;
      });
    },
  },
  'store: down': {
    weight: 2,
    strike: ({ world: { memory }, later }) => {
      memory.down();
      later(memory.up);
    },
  },
  'store: lost reply': { weight: 2, strike: ({ world: { memory }, dice }) => memory.swallowReplies(1 + dice.int(3)) },
  'store: full': {
    weight: 1,
    strike: ({ world: { memory }, later }) => {
      memory.refusing = 'OOM command not allowed';
      later(() => {
        memory.refusing = undefined;
      });
    },
  },
  'store: copied': {
    weight: 1,
    strike: (scene) => {
      scene.copy = scene.world.memory.copy();
    },
  },
  'store: lost': {
    weight: 1,
    strike: ({ world, dice, later }) => {
      if (!world.setting.shared || dice.chance(0.3)) crashServers(world, later);
      world.memory.lose();
      world.tell({ type: 'storeLost' });
    },
  },
  'store: older copy': {
    weight: 1,
    strike: ({ world, dice, later, copy }) => {
      if (copy === undefined) return;
      if (!world.setting.shared || dice.chance(0.3)) crashServers(world, later);
      world.memory.fallBack(copy);
      world.tell({ type: 'storeLost', isOlderCopy: true });
    },
  },
  'store: evicted': {
    weight: 1,
    strike: ({ world: { memory, setting, note, tell }, dice }) => {
      if (!setting.shared || memory.keys().length === 0) return;
      const key = dice.pick(memory.keys());
      note(`evicted ${key}`);
      memory.evict(key);
      tell({ type: 'evicted' });
    },
  },
  'lease: failing': {
    weight: 1,
    strike: ({ world: { lease }, later }) => {
      lease.problem = 'the API server does not answer';
      later(() => {
        lease.problem = undefined;
      });
    },
  },
  'git: failing': {
    weight: 3,
    strike: ({ world: { gitWeather }, dice, later }) => {
      gitWeather.failing = dice.pick(GIT_REASONS);
      later(() => {
        gitWeather.failing = undefined;
      });
    },
  },
  'git: lost answers': {
    weight: 1,
    strike: ({ world: { gitWeather }, later }) => {
      gitWeather.lostAnswers = 0.5;
      later(() => {
        gitWeather.lostAnswers = 0;
      });
    },
  },
  'git: damaged copy': {
    weight: 1,
    strike: ({ world: { gitWeather }, later }) => {
      gitWeather.damagedCopies = 0.3;
      later(() => {
        gitWeather.damagedCopies = 0;
      });
    },
  },
  'git: push race': {
    weight: 1,
    strike: ({ world: { repositories } }) => {
      const remote = repositories[0]?.remote;
      // A branch with content that the fleet has not written belongs to another writer.
      if (remote?.tip(STATUS_BRANCH) === undefined) return;
      remote.nextPublish.push(() => {
        remote.push({ [`people/${remote.publishes}.md`]: 'a person was here' }, { branch: STATUS_BRANCH });
      });
    },
  },
  'cluster: rejects': {
    weight: 3,
    strike: ({ agent: { cluster }, later }) => {
      cluster.weather.failingWrites = 0.5;
      later(() => {
        cluster.weather.failingWrites = 0;
      });
    },
  },
  'cluster: slow': {
    weight: 2,
    strike: ({ agent: { cluster }, dice, later }) => {
      cluster.weather.latencyMs = dice.int(3_000);
      later(() => {
        cluster.weather.latencyMs = 2;
      });
    },
  },
  'cluster: silent': {
    weight: 1,
    strike: ({ agent: { cluster }, later }) => {
      cluster.weather.unreadable = true;
      later(() => {
        cluster.weather.unreadable = false;
      });
    },
  },
  'cluster: no inventory': {
    weight: 2,
    strike: ({ agent: { cluster }, later }) => {
      cluster.weather.full = true;
      later(() => {
        cluster.weather.full = false;
      });
    },
  },
  'cluster: no hints': {
    weight: 1,
    strike: ({ agent: { cluster }, later }) => {
      cluster.weather.lostHints = 0.7;
      later(() => {
        cluster.weather.lostHints = 0;
      });
    },
  },
  'cluster: stop button': {
    weight: 1,
    strike: ({ agent: { cluster }, later }) => {
      cluster.memory.pause(true);
      later(() => cluster.memory.pause(false));
    },
  },
  'disk: full': {
    weight: 1,
    strike: ({ agent: { disk }, later }) => {
      disk.full(true);
      later(() => disk.full(false));
    },
  },
  'agent: crash': { weight: 3, strike: ({ agent, later }) => crashAgent(agent, later) },
  'agent: crash in a write': {
    weight: 4,
    strike: ({ agent, dice, later }) => {
      agent.life()?.process.doom(dice.pick(['before', 'after']), dice.int(6));
      agent.life()?.process.atDeath(() => later(agent.start));
    },
  },
  'agent: crash, disk lost': {
    weight: 1,
    strike: ({ agent, later }) => {
      crashAgent(agent, later);
      agent.disk.lose();
    },
  },
  'agent: crash, disk torn': {
    weight: 1,
    strike: ({ agent, later }) => {
      crashAgent(agent, later);
      agent.disk.tear();
    },
  },
  'agent: stopped': {
    weight: 2,
    strike: ({ agent, later }) => {
      const process = agent.life()?.process;
      process?.stop();
      later(() => process?.goOn());
    },
  },
  'server: crash': { weight: 2, strike: ({ world, later }) => crashServer(world, later) },
  'server: crash in a write': {
    weight: 2,
    strike: ({ world: { servers }, dice, later }) => {
      const server = dice.pick(servers);
      server.life()?.process.doom(dice.pick(['before', 'after']), dice.int(6));
      server.life()?.process.atDeath(() => later(server.start));
    },
  },
  'server: restart': {
    weight: 1,
    strike: ({ world: { servers }, dice }) => {
      const server = dice.pick(servers);
      void server.shutDown().then(server.start);
    },
  },
  'server: stopped': {
    weight: 1,
    strike: ({ world: { servers }, dice, later }) => {
      const process = dice.pick(servers).life()?.process;
      process?.stop();
      later(() => process?.goOn());
    },
  },
};

function wiresOf({ network }: World, agent: SimAgent) {
  const process = agent.life()?.process;
  return network.wires().filter(({ client }) => client === process);
}

function crashAgent(agent: SimAgent, later: Scene['later']): void {
  agent.life()?.process.kill();
  later(agent.start);
}

function crashServers({ servers }: World, later: Scene['later']): void {
  for (const { life, start } of servers) {
    life()?.process.kill();
    later(start);
  }
}

function crashServer({ servers, dice }: World, later: Scene['later']): void {
  const server = dice.pick(servers);
  server.life()?.process.kill();
  later(server.start);
}
