import { createRoute, z } from '@hono/zod-openapi';
import { AccessCheck, CHECKED_ACTIONS } from '@krmhub/api/model';
import { ACCESS_LIMITS } from '@krmhub/catalog';
import { type Diagnostic, KrmhubError, sha256 } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { recheckToken } from '../../http/auth/authorize.js';
import { callerOf } from '../../http/auth/caller.js';
import { SERVER_LIMITS } from '../../limits.js';
import {
  type ApplyAccessDeps,
  applyAccess,
  catalogsBehind,
  readAccessBytes,
} from '../../publish/apply-access.js';
import { type CheckAccessDeps, checkAccess } from '../../publish/check-access.js';
import { OPERATE_ACCESS } from '../addresses.js';
import type { Site } from '../site.js';
import { type AccessOutcome, AccessPage, type AccessQuestion, hasEffects } from './access-page.js';
import { CHANGES } from './operator.js';
import type { OperatorPages } from './operator-pages.js';
import type { PrivatePage } from './private-response.js';

const MAX_FORM_BYTES =
  ACCESS_LIMITS.maxBytes * SERVER_LIMITS.formBytesPerTextByte + SERVER_LIMITS.maxFormBytes;

export const ACCESS_PAGE_ROUTES = {
  operateAccess: createRoute({
    method: 'get',
    path: OPERATE_ACCESS,
    request: {
      query: z.object({
        applied: z.literal('true', 'is not true').optional(),
        actor: z.string().max(100, 'is too long').optional(),
        action: z.enum(CHECKED_ACTIONS, 'is not an action').optional(),
        object: z.string().max(520, 'is too long').optional(),
      }),
    },
    responses: { 200: { description: 'The Access document, and forms to check and change it' } },
  }),
  sendAccess: createRoute({
    method: 'post',
    path: OPERATE_ACCESS,
    responses: { 200: { description: 'The result' }, 303: { description: 'Applied' } },
  }),
} as const;

const Digest = z.string('is missing').regex(/^sha256:[a-f0-9]{64}$/, 'is not a digest');
const AccessForm = z.object({
  text: z.string('is missing'),
  /** Digest of the text on the page. */
  expected: Digest,
  /** Digest of the text whose effects the page shows. */
  shown: Digest.optional(),
  do: z.enum(['check', 'apply'], 'is neither check nor apply'),
});
/** Status of a document that is not applied, by the code of the error. */
const STATUS = { conflict: 409, 'invalid-document': 400, unavailable: 503 } as const;
type AccessForm = z.output<typeof AccessForm>;

export type AccessPageDeps = ApplyAccessDeps & CheckAccessDeps & { site: Site };

/** The page of the Access document, by the rules of the HTTP API. */
export function accessPageRoutes(deps: AccessPageDeps, pages: OperatorPages): void {
  const { store, site, access } = deps;

  const page = async (
    given: {
      diagnostics?: readonly Diagnostic[];
      outcome?: AccessOutcome;
      form?: AccessForm;
      question?: AccessQuestion | undefined;
    },
    status?: PrivatePage['status'],
  ): Promise<PrivatePage> => {
    const stored = await store.access();
    const { diagnostics = [], outcome, form, question } = given;
    const shown = {
      rules: access.rules,
      ...defined({
        applied: stored === undefined ? undefined : { at: stored.appliedAt, by: stored.appliedBy },
        question,
      }),
      stored: stored?.text ?? '',
      text: form?.text ?? stored?.text ?? '',
      // A user who has seen both texts may replace the stored one.
      expected: form === undefined || outcome?.is === 'conflict' ? sha256(stored?.text ?? '') : form.expected,
      diagnostics,
      outcome,
    };
    return {
      head: { title: 'Access', path: OPERATE_ACCESS },
      body: <AccessPage shown={shown} />,
      ...defined({ status }),
    };
  };

  const ask = async (query: Record<string, string | undefined>): Promise<AccessQuestion | undefined> => {
    const { actor = '', action = 'read', object = '' } = query;
    const asked = { actor, action, object };
    if (actor === '' && object === '') return undefined;
    const wanted = AccessCheck.safeParse(asked);
    if (!wanted.success) return { ...asked, problem: 'Enter an actor and an object.' };
    try {
      return { ...asked, decision: await checkAccess(deps, wanted.data) };
    } catch (error) {
      if (!(error instanceof KrmhubError)) throw error;
      return { ...asked, problem: [error.message, error.hint].filter(Boolean).join('. ') };
    }
  };

  const needs = CHANGES;
  pages.page(ACCESS_PAGE_ROUTES.operateAccess, { needs }, async (_, { query: { applied, ...query } }) =>
    page(
      applied === undefined
        ? { question: await ask(query) }
        : { outcome: { is: 'applied', behind: await catalogsBehind(deps) } },
    ),
  );

  pages.action(
    ACCESS_PAGE_ROUTES.sendAccess,
    {
      needs,
      form: AccessForm,
      maxBytes: MAX_FORM_BYTES,
      stale: async (_, { form }) => page({ form, outcome: { is: 'stale' } }, 403),
    },
    async (c, { form }, { token }) => {
      const isCheck = form.do === 'check';
      const options = { ...callerOf(c, token), replaces: isCheck ? undefined : form.expected };
      try {
        const { diagnostics, ...document } = readAccessBytes(new TextEncoder().encode(form.text));
        const apply = (dryRun: boolean) =>
          applyAccess(deps, document, { ...options, dryRun, recheck: recheckToken(c) });
        if (isCheck || form.shown !== sha256(form.text)) {
          const result = await apply(true);
          if (isCheck) return page({ form, diagnostics, outcome: { is: 'checked', result } });
          if (hasEffects(result)) return page({ form, diagnostics, outcome: { is: 'asks', result } });
        }
        await apply(false);
      } catch (error) {
        if (!(error instanceof KrmhubError)) throw error;
        const { code, message, hint, diagnostics = [] } = error;
        const status = STATUS[code as keyof typeof STATUS];
        if (status === undefined) throw error;
        const isOther = form.expected !== sha256((await store.access())?.text ?? '');
        if (code === 'conflict' && isOther) return page({ form, outcome: { is: 'conflict' } }, status);
        return page({ form, diagnostics, outcome: { is: 'refused', message, hint } }, status);
      }
      return c.redirect(site.at(`${OPERATE_ACCESS}?applied=true`), 303);
    },
  );
}
