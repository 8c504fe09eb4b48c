import { spawn } from 'node:child_process';
import { platform } from 'node:os';
import type { Environment } from '@krmhub/consume/ports';
import { findProgram } from '@krmhub/functions/process/find-program';
import { childEnvironment } from './child-environment.js';

/** What opens a URL in the browser of the user, by platform; its arguments before the URL. */
const OPENERS: Partial<Record<NodeJS.Platform, [program: string, ...args: string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/**
 * Opens a page in the browser of the user, without a shell. Returns false if there is none: in a remote session, or
 * without a display or a program that opens pages.
 */
export async function openBrowser(io: Environment, url: URL): Promise<boolean> {
  const { env } = io;
  const isRemote = [env.SSH_CONNECTION, env.SSH_TTY].some((value) => value !== undefined && value !== '');
  const opener = OPENERS[platform()] ?? ['xdg-open'];
  const hasDisplay = [env.DISPLAY, env.WAYLAND_DISPLAY].some((value) => value !== undefined && value !== '');
  if (isRemote || (opener[0] === 'xdg-open' && !hasDisplay)) return false;
  const [name, ...args] = opener;
  const program = await findProgram(name, env);
  if (program === undefined) return false;
  return new Promise((resolve) => {
    const child = spawn(program, [...args, url.href], {
      env: childEnvironment(io),
      stdio: 'ignore',
      detached: true,
    });
    child.on('error', () => resolve(false));
    child.on('spawn', () => {
      // The browser can run longer than this program.
      child.unref();
      resolve(true);
    });
  });
}
