import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { programPath } from './programs.ts';

const PROJECT = join(import.meta.dirname, '..', '..');
/** A build that has not ended by then is given up. */
const TIME_LIMIT_MS = 60 * 60_000;

/** What the configuration of an image says about how it is run. */
export interface ImageConfig {
  readonly User: string;
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly WorkingDir: string;
  readonly Labels: Readonly<Record<string, string>>;
}

/** A process of an image. */
export interface ImageProcess {
  /** All that it has printed. */
  output(): string;
  /** Ends with its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
  kill(signal: NodeJS.Signals): void;
}

/** Builds images with buildah in a store of its own, and runs programs from them. For root only. */
export interface ImageWorkshop {
  /** Runs `npm run image`; rejects with what it printed. */
  build(args: readonly string[]): void;
  /** What `buildah images` says of an image by a template of Go, such as `{{.ID}}`. */
  describe(tag: string, template: string): string;
  config(tag: string): ImageConfig;
  /** The root folder of a container of an image; it may be written to, as the runtime does. */
  mount(tag: string): string;
  /** Removes containers and images. */
  remove(): void;
}

export function createImageWorkshop(epoch: number): ImageWorkshop {
  const home = mkdtempSync(join(tmpdir(), 'fleetrelay-images-'));
  const conf = join(home, 'storage.conf');
  writeFileSync(conf, `[storage]\ndriver = "overlay"\ngraphroot = "${home}/store"\nrunroot = "${home}/run"\n`);
  const env = { ...process.env, CONTAINERS_STORAGE_CONF: conf, SOURCE_DATE_EPOCH: `${epoch}` };
  const options = { cwd: PROJECT, env, encoding: 'utf8', stdio: 'pipe', timeout: TIME_LIMIT_MS } as const;
  const buildah = (...args: readonly string[]): string => execFileSync(programPath('buildah'), args, options).trim();
  return {
    build: (args) => {
      try {
        execFileSync(
          process.execPath,
          [join(PROJECT, 'scripts', 'image.ts'), '--program', 'buildah', ...args],
          options,
        );
      } catch (error) {
        const { stdout, stderr } = error as { readonly stdout: string; readonly stderr: string };
        throw new Error(`${stdout}${stderr}`.slice(-4000));
      }
    },
    // An image with several names has a line for each.
    describe: (tag, template) => buildah('images', '--no-trunc', '--format', template, tag).split('\n')[0] ?? '',
    config: (tag) => JSON.parse(buildah('inspect', '--type', 'image', tag)).OCIv1.config,
    mount: (tag) => buildah('mount', buildah('from', tag)),
    remove: () => {
      buildah('umount', '--all');
      buildah('rm', '--all');
      buildah('rmi', '--all', '--force');
      rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    },
  };
}

/**
 * Starts the program of an image as a runtime of containers does on a read-only root: with its user, environment and entry point. Only
 * `/tmp` and `/var/lib/fleetrelay` can be written to; they are the folders `tmp` and `data` of `work`. It has the network of the machine.
 */
export function runImage(root: string, config: ImageConfig, work: string, args: readonly string[]): ImageProcess {
  return runInImage(root, config, work, [...config.Entrypoint, ...args]);
}

/** The same with another program than the entry point. */
export function runInImage(root: string, config: ImageConfig, work: string, program: readonly string[]): ImageProcess {
  const data = join(root, 'var', 'lib', 'fleetrelay');
  for (const folder of [data, join(work, 'tmp'), join(work, 'data')]) mkdirSync(folder, { recursive: true });
  for (const folder of ['tmp', 'data']) chmodSync(join(work, folder), 0o777);
  const script = `
    root=$0 work=$1 user=$2; shift 2
    mount --bind "$root" "$root"
    mount -o remount,ro,bind "$root"
    mount --rbind /dev "$root/dev"
    mount -t proc proc "$root/proc"
    mount --bind "$work/tmp" "$root/tmp"
    mount --bind "$work/data" "$root/var/lib/fleetrelay"
    exec chroot "--userspec=$user" "$root" /usr/bin/env -i "$@"`;
  const inside = [config.User, `--chdir=${config.WorkingDir}`, ...config.Env, ...program];
  const options = ['--mount', '--pid', '--fork', '--kill-child'];
  const child = spawn(programPath('unshare'), [...options, 'sh', '-ec', script, root, work, ...inside], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said: string[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => said.push(text.toString()));
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) =>
    child.once('close', (code, signal) => resolve(signal ?? code)),
  );
  return {
    output: () => said.join(''),
    ended,
    kill: (signal) => {
      if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
      // What the container runs is its first process, and the only child of `unshare`.
      if (signal === 'SIGKILL') child.kill(signal);
      else for (const first of childrenOf(child.pid)) process.kill(first, signal);
    },
  };
}

function childrenOf(pid: number): readonly number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}
