// Runs npm's oidc-provider as an identity server that signs everyone in at once: node oidc_provider.mjs '{…}'.
// It demands a DPoP nonce of every proof. Its clients differ in what they are registered for.
import { createServer } from 'node:http'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { Provider } from 'oidc-provider'

const given = JSON.parse(process.argv[2])
const [ec, rsa] = [generateKeyPairSync('ec', { namedCurve: 'P-256' }), generateKeyPairSync('rsa', { modulusLength: 2048 })]
const client = {
  redirect_uris: [given.redirect],
  post_logout_redirect_uris: [given.signedOut],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
}
const withKey = { ...client, token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: given.keys } }
const people = { 'person-1': { role: 'nurse', tenantid: 'riverside', name: 'Nora Quinn' } }
let isEnabled = true

const provider = new Provider(given.issuer, {
  clients: [
    { ...client, client_id: 'plain', client_secret: given.secret },
    { ...client, client_id: 'dpop', client_secret: given.secret, dpop_bound_access_tokens: true, require_pushed_authorization_requests: true },
    { ...withKey, client_id: 'fapi2', id_token_signed_response_alg: 'ES256', userinfo_signed_response_alg: 'PS256' },
  ],
  jwks: { keys: [ec, rsa].map(({ privateKey }) => ({ ...privateKey.export({ format: 'jwk' }), use: 'sig' })) },
  claims: { openid: ['sub'], profile: ['name'], roles: ['role', 'tenantid'], acr: null, auth_time: null },
  scopes: ['openid', 'offline_access'],
  acrValues: ['phr'],
  cookies: { keys: [randomBytes(16).toString('hex')] },
  features: {
    devInteractions: { enabled: false },
    claimsParameter: { enabled: true },
    jwtUserinfo: { enabled: true },
    revocation: { enabled: true },
    pushedAuthorizationRequests: { enabled: true },
    dPoP: { enabled: true, nonceSecret: randomBytes(32), requireNonce: () => true },
    fapi: { enabled: true, profile: (_ctx, asking) => (asking?.clientId === 'fapi2' ? '2.0' : undefined) },
    rpInitiatedLogout: { enabled: true, logoutSource: (ctx, form) => { ctx.body = form } },
  },
  ttl: { AccessToken: 60, Interaction: 600, Session: 3600, Grant: 3600, RefreshToken: 3600, IdToken: 600 },
  issueRefreshToken: () => true,
  findAccount: (_ctx, sub) => (isEnabled ? { accountId: sub, claims: () => ({ sub, ...people[sub] }) } : undefined),
  interactions: { url: (_ctx, interaction) => `/enter/${interaction.uid}` },
  async loadExistingGrant(ctx) {
    const grant = new provider.Grant({ clientId: ctx.oidc.client.clientId, accountId: ctx.oidc.session.accountId })
    grant.addOIDCScope('openid profile roles offline_access')
    await grant.save()
    return grant
  },
})

const callback = provider.callback()
createServer(async (request, response) => {
  if (request.url.startsWith('/person?')) {
    const asked = new URL(request.url, given.issuer).searchParams
    people['person-1'].role = asked.get('role') || undefined
    isEnabled = asked.get('enabled') === '1'
    response.end()
  } else if (request.url.startsWith('/enter/')) {
    const login = { accountId: 'person-1', acr: 'phr', amr: ['hwk'] }
    await provider.interactionFinished(request, response, { login }, { mergeWithLastSubmission: false })
  } else callback(request, response)
}).listen(new URL(given.issuer).port, '127.0.0.1', () => console.log('listening'))
provider.on('server_error', (_ctx, error) => console.log(error))
provider.on('grant.error', (_ctx, error) => console.log('grant', error.error, error.error_detail ?? error.error_description))
provider.on('pushed_authorization_request.error', (_ctx, error) => console.log('par', error.error, error.error_detail ?? error.error_description))
provider.on('userinfo.error', (_ctx, error) => console.log('userinfo', error.error, error.error_detail ?? error.error_description))
provider.on('authorization.error', (_ctx, error) => console.log('authorization', error.error, error.error_detail ?? error.error_description))
