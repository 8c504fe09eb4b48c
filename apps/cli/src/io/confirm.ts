import { KrmhubError } from '@krmhub/schema/error';
import { type Io, write } from './io.js';

const MAX_LENGTH = 1_024;

/** Asks a question at a terminal. Anything but yes is no, also the end of the input. */
export async function confirm(io: Io, question: string): Promise<boolean> {
  const { stdin } = io;
  await write(io.stderr, `${question} [y/N] `);
  const answer = await new Promise<string>((resolve, reject) => {
    let text = '';
    const finish = () => {
      stdin.off('data', take).off('end', finish).off('error', reject);
      stdin.pause();
      resolve(text);
    };
    const take = (chunk: Uint8Array | string) => {
      text += Buffer.from(chunk as string).toString('utf8');
      if (text.includes('\n') || text.length > MAX_LENGTH) finish();
    };
    stdin.on('data', take).on('end', finish).on('error', reject);
    stdin.resume();
  });
  return /^y(?:es)?$/i.test(answer.trim());
}

/**
 * Asks before a change. Throws `usage` if the answer is not yes, or if there is no terminal to ask at. `change` is what
 * the command is about to do, for example `take down example.com/SetLabels@1.0.0`. `preview` prints what it affects,
 * and returns false if nothing would change: then there is no question.
 */
export async function requireConfirmation(
  io: Io,
  change: string,
  question: string,
  preview: () => Promise<boolean>,
): Promise<void> {
  if (io.stdin.isTTY !== true) {
    throw new KrmhubError('usage', `cannot ${change}: there is no terminal to ask for confirmation`, {
      hint: 'Nothing was changed. To confirm without a terminal, use --yes.',
    });
  }
  if (!(await preview()) || (await confirm(io, question))) return;
  throw new KrmhubError('usage', `did not ${change}: not confirmed`, {
    hint: 'Nothing was changed. Answer y, or use --yes.',
  });
}
