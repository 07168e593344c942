import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type BuilderName, buildCommands, type Command } from './builders.ts';

/** The bases of the image: Debian, and the same with Node.js and npm. */
export interface Bases {
  readonly debian: string;
  readonly node: string;
}

/** The npm that builds the package; the line that Node 24 comes with. */
const NPM = '11.19.1';
/** What the slim form of Debian's image leaves out too. */
const LEFT_OUT = ['doc', 'man', 'locale', 'info', 'groff', 'lintian', 'linda'];

/** The command line that makes an archive of Debian's smallest system, without what documents it. */
export function debianCommand(archive: string): Command {
  const exclude = LEFT_OUT.map((folder) => `--dpkgopt=path-exclude=/usr/share/${folder}/*`);
  const include = '--dpkgopt=path-include=/usr/share/doc/*/copyright';
  return ['mmdebstrap', '--variant=minbase', ...exclude, include, 'trixie', archive];
}

/**
 * Makes both bases, for machines that have no registry of images: from Debian's packages by `mmdebstrap`, and from the packages of
 * npm that are Node.js and npm. `run` runs a command and throws if it fails; it gets SOURCE_DATE_EPOCH, which mmdebstrap obeys.
 */
export function makeBases(
  builder: BuilderName,
  epoch: number,
  run: (command: Command, env: Readonly<Record<string, string>>) => void,
): Bases {
  const folder = mkdtempSync(join(tmpdir(), 'fleetrelay-bases-'));
  const env = { SOURCE_DATE_EPOCH: `${epoch}` };
  const name = `node-linux-${process.arch}`;
  const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`);
  const { version } = createRequire(import.meta.url)(manifest) as { readonly version: string };
  const bases: Bases = {
    debian: 'localhost/fleetrelay-base-debian:trixie',
    node: `localhost/fleetrelay-base-node:${version}`,
  };
  const build = (tag: string, dockerfile: string): void => {
    const file = join(folder, 'Dockerfile');
    writeFileSync(file, dockerfile);
    writeFileSync(`${file}.dockerignore`, '');
    for (const command of buildCommands(builder, { file, context: folder, tag, epoch })) run(command, env);
  };
  try {
    run(debianCommand(join(folder, 'debian.tar')), env);
    const local = join(folder, 'node', 'usr', 'local');
    mkdirSync(join(local, 'bin'), { recursive: true });
    cpSync(join(dirname(manifest), 'bin', 'node'), join(local, 'bin', 'node'));
    run(['npm', 'install', '--global', '--prefix', local, `npm@${NPM}`], env);
    build(bases.debian, 'FROM scratch\nADD debian.tar /\n');
    build(bases.node, `FROM ${bases.debian}\nCOPY node /\n`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return bases;
}
