import type { SchemaIssue } from '../../src/sink/index.ts'
import { type SlackConfig, type SlackRoute, WEBHOOK_CHANNEL, WEBHOOK_MODE } from './config.ts'

/** What a rule may say only of some Slack sinks. */
export function checkRoute(
  { channel, mode }: SlackRoute,
  { url, allowChannels }: SlackConfig,
): SchemaIssue[] {
  const issues: SchemaIssue[] = []
  if (url) {
    if (channel) issues.push({ path: ['channel'], message: WEBHOOK_CHANNEL })
    if (mode !== undefined && mode !== 'message') issues.push({ path: ['mode'], message: WEBHOOK_MODE })
  } else if (channel && !channel.constant && allowChannels.length === 0) {
    const message =
      'is a template: the sink needs allowChannels, the channels (or globs, "#team-*") that it may choose'
    issues.push({ path: ['channel'], message })
  }
  return issues
}
