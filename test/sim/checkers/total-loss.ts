import { isHostile, type MakeChecker } from './checker.ts';

/** Servers that have lost everything they knew, and find everything as it is, send nothing. */
export const totalLoss: MakeChecker = (world, fail) => {
  let sent: string[] | undefined;
  world.listen((event) => {
    if (event.type === 'departed' && !isHostile(world, event.cluster)) sent?.push(event.cluster.name);
  });
  return {
    name: 'total loss',
    atRest: (rest) => {
      if (rest === 'lost' && sent !== undefined && sent.length > 0)
        fail(`${sent.length} deltas left after everything was lost, and nothing had changed: to ${sent.join(', ')}`);
      sent = rest === 'restarted' ? [] : undefined;
    },
  };
};
