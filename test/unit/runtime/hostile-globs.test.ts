import { expect, it } from 'vitest';
import { configMapYaml, placementYaml } from '../../support/manifests.ts';
import { abc, base, names, startedWorld } from '../../support/started-world.ts';

const lengths = Array.from({ length: 20 }, (_none, index) => 230 + index);
const files = {
  [`${'a/'.repeat(40)}deep.yaml`]: configMapYaml('deep', '1'),
  ...Object.fromEntries(
    lengths.map((length) => [`${'a'.repeat(length)}.yaml`, configMapYaml(`name-of-${length}`, '1')]),
  ),
};
const all = lengths.map((length) => `/ConfigMap/web/name-of-${length}`);

// A matcher that backtracks does not terminate on these.
it.each([
  ['twenty "**"', `${'**/a/'.repeat(20)}*b*`, []],
  ['twenty "**" that match', `${'**/a/'.repeat(20)}*e*p*`, ['/ConfigMap/web/deep']],
  ['five stars in a name', '*a*a*a*a*ab.yaml', []],
  ['five stars in a name that match', '*a*a*a*a*a.yaml', all],
  ['braces with stars', '{*a*,*a*a}{*a*a*,*a}b.yaml', []],
])('a Placement with %s is matched, and the others with it', async (_what, glob, selected) => {
  const world = await startedWorld({ ...base, ...files, 'fleet/hostile.yaml': placementYaml('hostile', glob) });
  expect(names(world, 'east')).toEqual([...abc, ...selected].sort());
  world.source.push({ 'apps/c.yaml': null });
  await world.settle();
  expect(names(world, 'east')).toEqual([...abc.slice(0, 2), ...selected].sort());
});
