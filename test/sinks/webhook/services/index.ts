import {
  createDingtalk,
  createDiscord,
  createGoogleChat,
  createLark,
  createMatrix,
  createMattermost,
  createNtfy,
  createRocketChat,
  createTeams,
  createTelegram,
  createWecom,
} from './chats.ts'
import {
  createDatadog,
  createElasticsearch,
  createLoki,
  createSplunk,
  createVictoriaLogs,
} from './log-stores.ts'
import {
  createAlertmanager,
  createIncidentIo,
  createOncall,
  createOpsgenie,
  createPagerduty,
} from './pagers.ts'
import type { Service } from './service.ts'

/** A fake of the service of each preset, by its documentation or by a real one. */
export const SERVICES: readonly (() => Service)[] = [
  () => createElasticsearch().service,
  () => createLoki().service,
  createVictoriaLogs,
  createSplunk,
  createDatadog,
  () => createOpsgenie().service,
  createIncidentIo,
  createOncall,
  createTelegram,
  createNtfy,
  createRocketChat,
  () => createMatrix().service,
  createLark,
  createDingtalk,
  createWecom,
  createTeams,
  createDiscord,
  createMattermost,
  createGoogleChat,
  createPagerduty,
  () => createAlertmanager().service,
]
