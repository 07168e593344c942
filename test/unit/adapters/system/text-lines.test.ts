import { expect, test } from 'vitest';
import { createPinoLog } from '../../../../src/adapters/system/pino-log.ts';
import { textLines } from '../../../../src/adapters/system/text-lines.ts';

function logged(colour = false) {
  const said: string[] = [];
  const log = createPinoLog({ level: 'info', write: textLines((text) => said.push(text), { colour }) });
  return { said, log };
}

test('a line has the time, the level, the message and the data', () => {
  const { said, log } = logged();
  log.info('the server is up', { relay: '0.0.0.0:9900', files: 2, where: 'a b' });
  log.warn('later');
  expect(said).toEqual([
    expect.stringMatching(/^\d\d:\d\d:\d\d info {2}the server is up relay=0\.0\.0\.0:9900 files=2 where="a b"\n$/),
    expect.stringMatching(/^\d\d:\d\d:\d\d warn {2}later\n$/),
  ]);
});

test('of an error it has the message and not the stack, and nothing of it controls the terminal', () => {
  const { said, log } = logged();
  log.error('it failed', { error: new Error('no \u001b[2J way\nout') });
  expect(said.join('')).toMatch(/error it failed error="no .* way.*out"\n$/);
  expect(said.join('')).not.toContain('\u001b');
  expect(said.join('')).not.toMatch(/at .*\.ts/);
});

test('the level is coloured where the terminal shows colours', () => {
  const { said, log } = logged(true);
  log.error('it failed');
  expect(said.join('')).toContain('\u001b[31merror\u001b[39m it failed');
});

test('what is no JSON is written as it is', () => {
  const said: string[] = [];
  textLines((text) => said.push(text), { colour: false })('hello\n');
  expect(said).toEqual(['hello\n']);
});
