import { expect, test } from 'vitest';
import { parseFleetName } from '../../../../src/model/fleet/ids.ts';
import { must } from '../../../../src/model/values/result.ts';
import { keepFleetMark } from '../../../../src/runtime/stored/fleet-mark.ts';
import { createSharedMemory } from '../../../support/shared-memory-store.ts';
import { silentLog as log } from '../../../support/silent-log.ts';

const [shop, bank] = [must(parseFleetName('shop')), must(parseFleetName('bank'))];

test('a shared store belongs to one fleet, for all its replicas, also after it was emptied', async () => {
  const memory = createSharedMemory();
  await Promise.all([1, 2].map(() => keepFleetMark({ store: memory.open(), log }, shop)));
  const asBank = () => keepFleetMark({ store: memory.open(), log }, bank);
  await expect(asBank()).rejects.toThrow(/another fleet than bank.*store\.redis\.prefix/);
  memory.lose();
  await expect.poll(() => memory.open().get('fleet')).toBeDefined();
  await expect(asBank()).rejects.toThrow('another fleet');
});
