/** A thread that plays seeds for {@link playInOrder}: each message is a seed, each answer what became of it. */
import { parentPort, workerData } from 'node:worker_threads';
import { type PlayOptions, playSeed } from './play.ts';

const how = workerData as PlayOptions;
parentPort?.on('message', (seed: number) => {
  // A rejection ends the thread, and its parent reports it with the seed.
  void playSeed(seed, how).then((played) => parentPort?.postMessage(played));
});
