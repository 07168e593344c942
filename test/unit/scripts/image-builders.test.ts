import { expect, test } from 'vitest';
import { debianCommand } from '../../../scripts/image/bases.ts';
import { BUILDERS, buildCommands, describeCommand, type ImageBuild } from '../../../scripts/image/builders.ts';

const build: ImageBuild = {
  file: 'deploy/image/Dockerfile',
  context: '.',
  tag: 'fleetrelay:0.1.0',
  epoch: 1_700_000_000,
  args: { NODE: 'localhost/node' },
  labels: { 'org.opencontainers.image.revision': 'abc' },
  caFile: '/etc/ca.crt',
};
const given = (command: readonly string[] | undefined, name: string) => command?.[command.indexOf(name) + 1];

test.each(BUILDERS)('%s builds with the bases, labels, authorities and the time that are asked for', (builder) => {
  const [command, ...more] = buildCommands(builder, build);
  expect(more).toEqual([]);
  expect(command?.[0]).toBe(builder);
  expect(command?.at(-1)).toBe('.');
  expect(given(command, '--file')).toBe('deploy/image/Dockerfile');
  expect(given(command, '--tag')).toBe('fleetrelay:0.1.0');
  expect(given(command, '--label')).toBe('org.opencontainers.image.revision=abc');
  expect(given(command, '--secret')).toBe('id=ca,src=/etc/ca.crt');
  expect(command).toContain('NODE=localhost/node');
  expect(command).toContain('SOURCE_DATE_EPOCH=1700000000');
});

test('every builder gives all files one time', () => {
  for (const builder of ['podman', 'buildah'] as const)
    expect(given(buildCommands(builder, build)[0], '--timestamp')).toBe('1700000000');
  expect(buildCommands('buildah', build)[0]).toContain('--omit-history');
  expect(given(buildCommands('docker', build)[0], '--output')).toBe('type=docker,rewrite-timestamp=true');
  // An attestation holds the time of the build.
  expect(buildCommands('docker', build)[0]).toContain('--provenance=false');
});

test('an archive holds the image of each platform', () => {
  const asked = { ...build, platforms: ['linux/amd64', 'linux/arm64'], output: '/tmp/image.tar' };
  const [docker] = buildCommands('docker', asked);
  expect(given(docker, '--platform')).toBe('linux/amd64,linux/arm64');
  expect(given(docker, '--output')).toBe('type=oci,dest=/tmp/image.tar,rewrite-timestamp=true');
  for (const builder of ['podman', 'buildah'] as const)
    expect(buildCommands(builder, asked)[1]).toEqual([
      builder,
      'push',
      'fleetrelay:0.1.0',
      'oci-archive:/tmp/image.tar:fleetrelay:0.1.0',
    ]);
});

test('buildah needs no engine, no runtime and no registry', () => {
  expect(given(buildCommands('buildah', build)[0], '--isolation')).toBe('chroot');
  expect(describeCommand('buildah', 'a:b')).toEqual(expect.arrayContaining(['images', 'a:b']));
  const debian = debianCommand('debian.tar');
  expect(debian.slice(-2)).toEqual(['trixie', 'debian.tar']);
  expect(debian.join(' ')).not.toMatch(/https?:/);
});
