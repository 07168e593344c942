import { describe, expect, it } from 'vitest';
import { careSection } from '../../../src/domains/care/engine/settings.ts';
import { careDefaults } from '../../../src/domains/care/model/settings.ts';
import { boundPolicy, defaultFleetPolicy } from '../../../src/model/fleet/fleet-policy.ts';

const unbounded = { guards: {}, safeModes: ['strict', 'scoped', 'off'], webhookRemediator: true } as const;
const policy = {
  ...defaultFleetPolicy,
  guards: { ...defaultFleetPolicy.guards, maxRemovalsPerCluster: 100, windowSeconds: 10 },
  safeMode: { mode: 'off', safeStartWindowSeconds: 5 },
} as const;

describe('boundPolicy', () => {
  it('leaves a policy inside its bounds as it is', () => {
    expect(boundPolicy(policy, unbounded)).toEqual({ policy, cuts: [] });
    const wide = {
      ...unbounded,
      guards: { maxRemovalsPerCluster: 100, windowSeconds: 10 },
      safeModes: ['off'],
    } as const;
    expect(boundPolicy(policy, wide)).toEqual({ policy, cuts: [] });
  });
  it('cuts what is looser, and says so; a shorter window is looser', () => {
    const narrow = {
      guards: { maxRemovalsPerCluster: 20, windowSeconds: 60, maxRemovalsPerFleet: 1_000 },
      safeModes: ['strict', 'scoped'],
      webhookRemediator: false,
    } as const;
    expect(boundPolicy(policy, narrow)).toEqual({
      policy: {
        ...policy,
        guards: { ...policy.guards, maxRemovalsPerCluster: 20, windowSeconds: 60 },
        safeMode: { mode: 'scoped', safeStartWindowSeconds: 5 },
      },
      cuts: [
        {
          field: ['spec', 'guards', 'maxRemovalsPerCluster'],
          message: 'guards.maxRemovalsPerCluster is 100, the server allows 20',
        },
        { field: ['spec', 'guards', 'windowSeconds'], message: 'guards.windowSeconds is 10, the server allows 60' },
        { field: ['spec', 'safeMode', 'mode'], message: 'safeMode.mode is off, the server allows strict, scoped' },
      ],
    });
  });
  it('falls back to strict where scoped is not allowed either', () => {
    expect(boundPolicy(policy, { ...unbounded, safeModes: ['strict'] }).policy.safeMode.mode).toBe('strict');
  });
  it('switches off the remediation of webhooks that the server does not allow', () => {
    const care = { ...careDefaults, webhookRemediatorEnabled: true };
    const wanted = { ...policy, care };
    expect(boundPolicy(wanted, unbounded, [careSection])).toEqual({ policy: wanted, cuts: [] });
    expect(boundPolicy(wanted, { ...unbounded, webhookRemediator: false }, [careSection])).toEqual({
      policy: { ...policy, care: { ...care, webhookRemediatorEnabled: false } },
      cuts: [
        {
          field: ['spec', 'care', 'webhookRemediatorEnabled'],
          message: 'care.webhookRemediatorEnabled is true, the server allows false',
        },
      ],
    });
  });
});
