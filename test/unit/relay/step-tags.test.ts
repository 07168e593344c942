import { describe, expect, it } from 'vitest';
import { sha256 } from '../../../src/model/text/digest.ts';
import { createStepTags, type TaggedStep } from '../../../src/relay/trust/step-tags.ts';
import { clusterId, clusterName, FLEET } from '../../support/relay-world.ts';

/** Known answer, computed with another implementation of HKDF and HMAC. */
const VECTOR =
  'a105d79934d3f389ce1f58ce59473e7647f9a857a6b7b8ec5861a22ff44700cc7b081dffd14db840ee91fc17d730b420198a59841e9a6c7447466ae03db6fc7a';
const secret = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
const step: TaggedStep = {
  fleet: FLEET,
  cluster: clusterName('east'),
  clusterId: clusterId('east-id'),
  position: { epoch: 1_700_000_000_000, sequence: 7 },
  admitted: { epoch: 1_700_000_000_000, sequence: 3 },
  digest: sha256('a'),
};
const tags = createStepTags([secret(1)]);

describe('a tag', () => {
  it('is HMAC-SHA256 over the fields as JSON, with a key of its own', () => {
    expect(tags.sign(step, true)).toBe(VECTOR);
    expect(tags.sign(step, false)).toBe(VECTOR.slice(0, 64));
  });

  it('proves what it was made for', () => {
    const key = tags.signer;
    expect(key).toMatch(/^[0-9a-f]{16}$/);
    expect(tags.verify(step, tags.sign(step, true))).toEqual({ type: 'inventory', key });
    expect(tags.verify(step, tags.sign(step, false))).toEqual({ type: 'position', key });
    expect(tags.verify({ ...step, digest: sha256('b') }, tags.sign(step, true))).toEqual({ type: 'position', key });
  });

  const { admitted: _, ...withoutAdmission } = step;
  it.each<[string, TaggedStep]>([
    ['fleet', { ...step, fleet: 'other' as never }],
    ['cluster', { ...step, cluster: clusterName('west') }],
    ['cluster id', { ...step, clusterId: clusterId('west-id') }],
    ['epoch', { ...step, position: { epoch: 1_700_000_000_001, sequence: 7 } }],
    ['sequence', { ...step, position: { epoch: 1_700_000_000_000, sequence: 8 } }],
    ['admission', { ...step, admitted: { epoch: 1_700_000_000_000, sequence: 4 } }],
    ['absent admission', withoutAdmission],
    ['border between two names', { ...step, cluster: clusterName('eas'), clusterId: clusterId('teast-id') }],
  ])('proves nothing for another %s', (_what, other) => {
    expect(tags.verify(other, tags.sign(step, true))).toEqual({ type: 'nothing' });
    expect(tags.verify(step, tags.sign(other, true))).toEqual({ type: 'nothing' });
  });

  it('proves nothing if it is absent, cut, lengthened or made with another secret', () => {
    const tag = tags.sign(step, true);
    const stranger = createStepTags([secret(2)]).sign(step, true);
    for (const wrong of [undefined, '', tag.slice(0, 62), stranger, tag.slice(64), 'zz']) {
      expect(tags.verify(step, wrong)).toEqual({ type: 'nothing' });
    }
    expect(tags.verify(step, `${tag}00`)).toMatchObject({ type: 'position' });
    expect(tags.verify(step, tag.slice(0, 64) + stranger.slice(64))).toMatchObject({ type: 'position' });
  });
});

describe('of two secrets', () => {
  const both = createStepTags([secret(2), secret(1)]);

  it('the first signs', () => {
    expect(both.sign(step, true)).toBe(createStepTags([secret(2)]).sign(step, true));
    expect(both.signer).not.toBe(tags.signer);
  });

  it('either verifies, and the proof names the key', () => {
    expect(both.verify(step, both.sign(step, true))).toEqual({ type: 'inventory', key: both.signer });
    expect(both.verify(step, tags.sign(step, true))).toEqual({ type: 'inventory', key: tags.signer });
  });

  it('neither verifies the halves of two tags as one', () => {
    const mixed = both.sign(step, true).slice(0, 64) + tags.sign(step, true).slice(64);
    expect(both.verify(step, mixed)).toEqual({ type: 'position', key: both.signer });
  });
});

it('without a secret there are no tags', () => {
  expect(() => createStepTags([])).toThrow(/secret/);
});
