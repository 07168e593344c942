import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const PROJECT = join(import.meta.dirname, '..', '..');
/** Images that a release of this project makes, and names by digest itself. */
const OWN = /^(['"]?)(fleetrelay|REGISTRY\/fleetrelay)(:[\w.]+)?\1$/;
const DIGEST = /@sha256:[0-9a-f]{64}$/;

/** References to images in a Dockerfile: its frontend, its bases with their arguments put in, and what it copies from. */
function imagesOf(dockerfile: string): readonly string[] {
  const values = new Map(
    [...dockerfile.matchAll(/^ARG (\w+)=(\S+)$/gm)].map(([, name = '', value = '']) => [name, value]),
  );
  const stages = new Set([...dockerfile.matchAll(/ AS (\w+)$/gm)].map(([, name]) => name));
  const named = [...dockerfile.matchAll(/^(?:# syntax=|FROM (?:--\S+ )*|COPY --from=)(\S+)/gm)].map(([, image = '']) =>
    image.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => values.get(name) ?? ''),
  );
  return named.filter((image) => !stages.has(image));
}

/** `image: NAME` of manifests; not what a template of a chart makes of its values. */
function imagesIn(yaml: string): readonly string[] {
  return [...yaml.matchAll(/^\s*(?:- )?image:[ ]+([^{\s]\S*)\s*$/gm)].map(([, image = '']) => image);
}

function unpinned(images: readonly string[]): readonly string[] {
  return images.filter((image) => !OWN.test(image) && !DIGEST.test(image.replaceAll(/['"]/g, '')));
}

const read = (path: string): string => readFileSync(join(PROJECT, path), 'utf8');

test('every image that is not our own is named by digest', () => {
  const dockerfiles = globSync('deploy/**/Dockerfile', { cwd: PROJECT });
  const bases = dockerfiles.flatMap((path) => imagesOf(read(path)));
  expect(bases.length).toBeGreaterThan(2);
  expect(unpinned(bases)).toEqual([]);
  const manifests = globSync('deploy/**/*.{yaml,yml,tpl}', { cwd: PROJECT });
  const named = manifests.flatMap((path) => imagesIn(read(path)));
  expect(named).toContain('fleetrelay');
  expect(unpinned(named)).toEqual([]);
});

test.each([
  ['FROM node:24\n', ['node:24']],
  ['ARG A=debian:trixie\nFROM --platform=linux $' + '{A} AS b\nCOPY --from=b /a /a\n', ['debian:trixie']],
  ['# syntax=docker/dockerfile:1\n', ['docker/dockerfile:1']],
  ['FROM a@sha256:12\nCOPY --from=nginx:1 /a /a\n', ['a@sha256:12', 'nginx:1']],
])('%j is found', (text, images) => {
  expect(unpinned(imagesOf(text))).toEqual(images);
});

test('an image in a manifest is found', () => {
  expect(unpinned(imagesIn('      - image: redis:8\n        image: "fleetrelay:0.1.0"\n'))).toEqual(['redis:8']);
});
