import { expect, it } from 'vitest';
import { createBus } from '../../../src/runtime/bus.ts';

interface Events {
  readonly moved: string;
  readonly ended: undefined;
}

function createScene() {
  const errors: unknown[] = [];
  const heard: string[] = [];
  const bus = createBus<Events>({ log: { error: (message, data) => void errors.push([message, data]) } });
  const note = (who: string) => (what: string | undefined) => void heard.push(`${who} ${what ?? 'ended'}`);
  return { bus, errors, heard, note };
}

it('calls the listeners of an event in the order in which they were added, before emit returns', () => {
  const { bus, heard, note } = createScene();
  bus.on('moved', note('first'));
  bus.on('ended', note('other'));
  bus.on('moved', note('second'));
  bus.emit('moved', 'east');
  expect(heard).toEqual(['first east', 'second east']);
  bus.emit('ended');
  expect(heard).toEqual(['first east', 'second east', 'other ended']);
});

it('calls the other listeners also if one throws, and logs the error', () => {
  const { bus, errors, heard, note } = createScene();
  bus.on('moved', () => {
    throw new Error('no such cluster');
  });
  bus.on('moved', note('second'));
  bus.emit('moved', 'east');
  expect(heard).toEqual(['second east']);
  expect(errors).toEqual([['a listener failed', { event: 'moved', error: 'no such cluster' }]]);
});

it('calls a listener as often as it was added', () => {
  const { bus, heard, note } = createScene();
  const listener = note('one');
  bus.on('moved', listener);
  bus.on('moved', listener);
  bus.emit('moved', 'east');
  expect(heard).toEqual(['one east', 'one east']);
});

it('calls a listener that is added during an event at the next one', () => {
  const { bus, heard, note } = createScene();
  bus.on('moved', (what) => {
    if (what === 'east') bus.on('moved', note('later'));
  });
  bus.emit('moved', 'east');
  expect(heard).toEqual([]);
  bus.emit('moved', 'west');
  expect(heard).toEqual(['later west']);
});
