/** Errors that one channel has; the others go on. */
export const CHANNEL_ERRORS: ReadonlySet<string> = new Set([
  'channel_not_found',
  'not_in_channel',
  'is_archived',
  'channel_is_archived',
  'access_denied',
  'action_prohibited',
  'posting_to_general_channel_denied',
  'user_not_found',
])

const TOKEN_ERRORS: Record<string, string> = {
  invalid_auth: 'Slack does not know this token: copy the Bot User OAuth Token from the app once more',
  not_authed: 'Slack got no token: is a proxy dropping the authorization header?',
  token_revoked: 'the token was revoked: reinstall the app and take its new Bot User OAuth Token',
  token_expired: 'the token has expired: renew it, or switch token rotation off for the app',
  account_inactive: 'the app was removed from the workspace: install it again and take its new token',
  not_allowed_token_type: 'this kind of token cannot post: use the Bot User OAuth Token (xoxb-)',
  invalid_token: 'the webhook was withdrawn: add a new one to the app and put its URL into url',
}

const SINK_ERRORS: Record<string, string> = {
  no_permission: "the app lacks the permission to post: check its scopes and the workspace's settings",
  ekm_access_denied: "the workspace's administrators have suspended posting (Enterprise Key Management)",
  team_access_not_granted:
    'the app is not granted to this workspace: ask an administrator of the organisation',
  org_login_required: 'the workspace is being moved into an organisation: wait, or install the app again',
  no_service: 'the webhook was removed or switched off: add a new one to the app and put its URL into url',
  no_service_id: 'url is not complete: copy the whole address of the webhook',
  no_team: 'url names no workspace: copy the whole address of the webhook',
  team_disabled: 'the workspace is disabled',
  no_active_hooks: 'the webhook is switched off: switch it on or add a new one',
  invalid_url: 'url is no address of a webhook: copy it once more',
}

/** What to do about an error, in words; undefined for those that no operator can mend. */
export function adviceFor(code: string, channel: string, needed?: string): string | undefined {
  if (code === 'missing_scope') {
    const scope = needed || 'chat:write'
    return `missing_scope: add the scope ${scope} to the app (OAuth & Permissions) and reinstall it`
  }
  const known = forChannel(code, channel) ?? own(TOKEN_ERRORS, code) ?? own(SINK_ERRORS, code)
  return known === undefined ? undefined : `${code}: ${known}`
}

export function isTokenError(code: string): boolean {
  return Object.hasOwn(TOKEN_ERRORS, code) || code === 'missing_scope' || code === 'no_permission'
}

function forChannel(code: string, channel: string): string | undefined {
  switch (code) {
    case 'channel_not_found':
      return `there is no ${channel}, or it is private and the app is not in it: correct the name, or /invite the app there`
    case 'not_in_channel':
      return `the app is not in ${channel}: /invite it there, or give it chat:write.public`
    case 'is_archived':
    case 'channel_is_archived':
      return `${channel} is archived: unarchive it, or choose another channel`
    case 'access_denied':
    case 'action_prohibited':
    case 'posting_to_general_channel_denied':
      return `the workspace's settings keep the app from posting to ${channel}`
    case 'user_not_found':
      return `${channel} belongs to a user who is gone: choose another channel`
    default:
      return code.startsWith('restricted_action')
        ? `${channel} or the workspace restricts who may post: allow the app, or choose another channel`
        : undefined
  }
}

function own(texts: Record<string, string>, code: string): string | undefined {
  return Object.hasOwn(texts, code) ? texts[code] : undefined
}
