import { z } from '@hono/zod-openapi';
import { exactOptional, Time } from './base-model.js';
import * as parameters from './parameters.js';

/** Owners of groups, and claims. */

const TeamName = z
  .string()
  .regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, 'is not the name of a team')
  .openapi({ example: 'platform' });

const Proof = z
  .enum(['administrator', 'dns', 'https'])
  .openapi({ description: 'How the owner was shown: `administrator` is the Access document' });

const MissingSince = Time.openapi({
  description: 'Since when the proof is missing. Absent while it is there',
});

export const GroupOwner = z
  .object({
    team: z.string(),
    displayName: z.string().openapi({ description: 'Display name of the team; without one, its name' }),
    proof: Proof,
    missingSince: exactOptional(MissingSince),
  })
  .openapi('GroupOwner', {
    description: 'Owner of the group. Absent if nobody is verified: `publisher` is then only a claim',
  });

export const Owner = z
  .object({
    group: z.string().openapi({ description: 'A group, or a pattern of groups of the Access document' }),
    team: z.string(),
    displayName: z.string().optional(),
    contact: z.string().optional(),
    proof: Proof,
    claimedAt: Time.optional(),
    claimedBy: z.string().optional(),
    checkedAt: Time.optional().openapi({ description: 'When the proof was last looked for' }),
    missingSince: exactOptional(MissingSince),
    problem: z.string().optional().openapi({ description: 'Why the proof was not found' }),
  })
  .openapi('Owner');

export const OwnerList = z.object({ owners: z.array(Owner) }).openapi('OwnerList');

export const ClaimRequest = z
  .object({ team: TeamName, proof: z.enum(['dns', 'https']).default('dns') })
  .openapi('ClaimRequest');

export const VerifiedOwner = z
  .object({
    outcome: z.enum(['verified', 'missing', 'ended']).openapi({
      description: '`ended`: the proof was missing for so long that the group has no owner any more',
    }),
    owner: Owner.optional(),
  })
  .openapi('VerifiedOwner');

export const OwnerParameters = z.object({ group: parameters.Group });

export type Owner = z.infer<typeof Owner>;
export type OwnerList = z.infer<typeof OwnerList>;
export type ClaimRequest = z.input<typeof ClaimRequest>;
export type VerifiedOwner = z.infer<typeof VerifiedOwner>;
