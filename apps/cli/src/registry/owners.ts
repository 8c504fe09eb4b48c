import type { Owner } from '@krmhub/api/owner-model';
import { PROOF_MISSING } from '@krmhub/catalog/access/owner-text';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls, plural } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine, printTable, printWarning } from '../io/print.js';
import { relativeTime } from '../io/time.js';
import { connect } from './connection.js';

export interface OwnerOptions {
  registry?: string;
  output: OutputFormat;
}

export interface ClaimOptions extends OwnerOptions {
  team: string;
  proof: 'dns' | 'https';
}

export async function listOwners(io: Io, group: string | undefined, options: OwnerOptions): Promise<void> {
  const list = await (await connect(io, options.registry)).owners();
  const owners = list.owners.filter((owner) => group === undefined || owner.group === group);
  if (group !== undefined && owners.length === 0) {
    throw new KrmhubError('not-found', `${group} has no owner`, {
      hint: `Claim it with \`krmhub owner claim ${group} --team TEAM\`.`,
    });
  }
  await printData(io, options.output, { owners }, () => printOwners(io, owners));
}

/** Claims a group, or gives it to another team. */
export async function claimGroup(
  io: Io,
  group: string,
  { team, proof, ...options }: ClaimOptions,
): Promise<void> {
  const client = await connect(io, options.registry);
  const owner = await client.claimGroup(group, { team, proof });
  await printData(io, options.output, owner, async () => undefined);
  await printLine(
    io,
    `${group} belongs to the team ${team}: only its tokens, teams with a grant, and administrators`,
  );
  await printLine(io, `can publish in it. Keep the proof: the registry looks for it every week`);
  // A claim that exists is only checked.
  if (owner.claimedAt !== owner.checkedAt) return;
  const { total } = await client.search({ group: [group], limit: 1 });
  if (total === 0) return;
  await printWarning(
    io,
    `the group already has ${plural(total, 'function')}. What is in this registry is now shown as yours: ` +
      `\`krmhub search --group ${group}\` lists them. Yank those that are not yours`,
  );
}

/** Throws `untrusted` if the proof is missing. */
export async function verifyOwner(io: Io, group: string, options: OwnerOptions): Promise<void> {
  const found = await (await connect(io, options.registry)).verifyOwner(group);
  await printData(io, options.output, found, async () => undefined);
  const { owner, outcome } = found;
  if (owner !== undefined && outcome === 'verified') {
    return printLine(io, `${group} belongs to the team ${owner.team}: the proof (${owner.proof}) is there`);
  }
  const reason = owner?.problem === undefined ? '' : `: ${escapeControls(owner.problem)}`;
  throw new KrmhubError('untrusted', `the proof of ${group} is missing${reason}`, {
    hint:
      owner === undefined
        ? `The group has no owner any more. Claim it again with \`krmhub owner claim ${group} --team TEAM\`.`
        : `Publish it again within two weeks of ${owner.missingSince?.slice(0, 10)}, or the claim ends. \`krmhub owner claim\` says what to publish.`,
  });
}

export async function releaseGroup(io: Io, group: string, options: OwnerOptions): Promise<void> {
  await (await connect(io, options.registry)).releaseGroup(group);
  await printData(io, options.output, { group, outcome: 'released' }, async () => undefined);
  await printLine(io, `${group} has no owner any more`);
}

async function printOwners(io: Io, owners: readonly Owner[]): Promise<void> {
  const now = io.now();
  const columns = [
    { header: 'GROUP', min: 12 },
    { header: 'TEAM', min: 8 },
    { header: 'PROOF' },
    { header: 'CHECKED' },
    { header: 'PROBLEM', min: 8 },
  ];
  await printTable(io, columns, owners, {
    terminal: (owner) => {
      const { group, team, proof, checkedAt } = owner;
      return [
        group,
        team,
        proof,
        checkedAt === undefined ? '' : relativeTime(checkedAt, now),
        problemOf(owner),
      ];
    },
    pipe: (owner) => {
      const { group, team, proof, checkedAt = '' } = owner;
      return [group, team, proof, checkedAt, problemOf(owner)];
    },
  });
}

function problemOf({ missingSince, problem = '' }: Owner): string {
  return missingSince === undefined
    ? problem
    : `${PROOF_MISSING} since ${missingSince.slice(0, 10)}: ${problem}`;
}
