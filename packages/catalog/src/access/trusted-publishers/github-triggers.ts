/** Which triggers of GitHub start runs that may publish: the claim `event_name`. */

/**
 * Those that need the right to write to the repository. Not `deployment` and `deployment_status`: apps create deployments
 * also of the commits of pull requests, and the run is of the workflow in that commit.
 */
const TRUSTED_EVENTS = [
  'push',
  'release',
  'workflow_dispatch',
  'schedule',
  'repository_dispatch',
  'merge_group',
  'create',
] as const;

/** They run with the rights of the repository for a pull request of anybody. */
const REFUSED_EVENTS = ['pull_request_target', 'workflow_run'] as const;

export const GITHUB_TRIGGER = {
  claim: 'event_name',
  meaning: 'trigger of the run, if it is one that strangers can cause',
  example: 'pull_request',
  form: new RegExp(`^(?!(?:${REFUSED_EVENTS.join('|')})$)[a-z_]+$`),
} as const;

export const GITHUB_TRIGGER_RULES = [
  {
    claim: 'event_name',
    refused: REFUSED_EVENTS,
    why: 'anybody who opens a pull request can start such a run',
  },
  {
    claim: 'event_name',
    required: TRUSTED_EVENTS,
    unless: 'event',
    why: 'strangers can start runs of other triggers, or write what they run; to allow one, add the publisher with --set event=NAME',
  },
] as const;
