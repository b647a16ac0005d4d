// Drives the identity server with openid-client 6: every step that it checks by itself has to go through.
import * as client from 'openid-client'
import assert from 'node:assert/strict'

const given = JSON.parse(process.argv[2])
const insecure = { execute: [client.allowInsecureRequests] }
const issuer = new URL(given.issuer)

/** A browser: keeps cookies, follows redirects within the issuer, fills in the sign-in form; returns where it ends. */
function browser() {
  const jar = new Map()
  const call = async (url, options = {}) => {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await fetch(url, { redirect: 'manual', ...options, headers: { ...options.headers, cookie } })
    for (const one of answer.headers.getSetCookie()) {
      const [name, value] = one.split(';')[0].split(/=(.*)/s)
      jar.set(name, value)
    }
    return answer
  }
  return async (url, username) => {
    let answer = await call(url)
    for (;;) {
      const to = answer.headers.get('location')
      if (to && new URL(to, issuer).origin !== issuer.origin) return new URL(to)
      if (to) { answer = await call(new URL(to, issuer)); continue }
      const page = await answer.text()
      const handle = /name="request" value="([^"]+)"/.exec(page)
      assert.ok(handle && username, page)
      const body = new URLSearchParams({ request: handle[1], username, password: given.password })
      answer = await call(new URL('/sign-in', issuer), { method: 'POST', body })
    }
  }
}

const basic = await client.discovery(issuer, 'riverside-portal', undefined, client.ClientSecretBasic(given.secret), insecure)
const post = await client.discovery(issuer, 'riverside-portal', undefined, client.ClientSecretPost(given.secret), insecure)

for (const [config, pushes] of [[basic, false], [post, true]]) {
  const visit = browser()
  const verifier = client.randomPKCECodeVerifier()
  const checks = { pkceCodeVerifier: verifier, expectedState: client.randomState(), expectedNonce: client.randomNonce(), maxAge: 300 }
  const asked = {
    redirect_uri: given.redirect,
    scope: 'openid profile email roles offline_access ClientelePortal',
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state: checks.expectedState,
    nonce: checks.expectedNonce,
    max_age: '300',
  }
  const url = pushes ? await client.buildAuthorizationUrlWithPAR(config, asked) : client.buildAuthorizationUrl(config, asked)
  const back = await visit(url, 'amelia')
  const tokens = await client.authorizationCodeGrant(config, back, checks)
  assert.equal(tokens.claims().sub, given.sub)
  const told = await client.fetchUserInfo(config, tokens.access_token, given.sub)
  assert.equal(told.preferred_username, 'amelia')

  const silent = await visit(client.buildAuthorizationUrl(config, { ...asked, prompt: 'none', id_token_hint: tokens.id_token }))
  await client.authorizationCodeGrant(config, silent, checks)

  const renewed = await client.refreshTokenGrant(config, tokens.refresh_token)
  assert.notEqual(renewed.refresh_token, tokens.refresh_token)
  await client.tokenRevocation(config, renewed.refresh_token)
  await assert.rejects(client.refreshTokenGrant(config, renewed.refresh_token), { error: 'invalid_grant' })
  await assert.rejects(client.authorizationCodeGrant(config, back, checks), { error: 'invalid_grant' })

  const refused = await visit(client.buildAuthorizationUrl(config, { ...asked, request: 'e30.e30.' }))
  await assert.rejects(client.authorizationCodeGrant(config, refused, checks), { error: 'request_not_supported' })

  const out = client.buildEndSessionUrl(config, {
    id_token_hint: tokens.id_token,
    post_logout_redirect_uri: new URL('/signed-out', given.redirect).href,
    state: 'out',
  })
  assert.equal((await visit(out)).searchParams.get('state'), 'out')
}

// Tokens bound to a key: it learns the server's nonces by itself, and the API takes the token with a proof alone.
{
  const visit = browser()
  const DPoP = client.getDPoPHandle(basic, await client.randomDPoPKeyPair())
  const verifier = client.randomPKCECodeVerifier()
  const checks = { pkceCodeVerifier: verifier, expectedState: client.randomState(), expectedNonce: client.randomNonce() }
  const url = await client.buildAuthorizationUrlWithPAR(basic, {
    redirect_uri: given.redirect,
    scope: 'openid profile roles offline_access ClientelePortal',
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state: checks.expectedState,
    nonce: checks.expectedNonce,
  }, { DPoP })
  const back = await visit(url, 'amelia')
  const stranger = client.getDPoPHandle(basic, await client.randomDPoPKeyPair())
  const tokens = await client.authorizationCodeGrant(basic, back, checks, undefined, { DPoP })
  assert.equal(tokens.token_type, 'dpop')
  assert.equal((await client.fetchUserInfo(basic, tokens.access_token, given.sub, { DPoP })).sub, given.sub)
  const renewed = await client.refreshTokenGrant(basic, tokens.refresh_token, undefined, { DPoP })
  const forms = new URL('/api/care/consent-forms', issuer)
  const ask = (handle) => client.fetchProtectedResource(basic, renewed.access_token, forms, 'GET', undefined, undefined, handle)
  assert.equal((await ask({ DPoP })).status, 200)
  await assert.rejects(ask({ DPoP: stranger }), { code: 'OAUTH_WWW_AUTHENTICATE_CHALLENGE' })
  await assert.rejects(ask(undefined), { code: 'OAUTH_WWW_AUTHENTICATE_CHALLENGE' })
}

const rsa = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }
const key = await crypto.subtle.importKey('jwk', { ...given.key, alg: 'RS256' }, rsa, false, ['sign'])
const service = await client.discovery(issuer, 'harbour-service', undefined, client.PrivateKeyJwt({ key, kid: given.key.kid }), insecure)
const granted = await client.clientCredentialsGrant(service, { scope: 'ClientelePortal' })
assert.equal((await client.tokenIntrospection(service, granted.access_token)).active, true)
const stranger = await crypto.subtle.generateKey({ ...rsa, modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) }, false, ['sign', 'verify'])
const forged = await client.discovery(issuer, 'harbour-service', undefined, client.PrivateKeyJwt(stranger.privateKey), insecure)
await assert.rejects(client.clientCredentialsGrant(forged, { scope: 'ClientelePortal' }), { status: 401 })

console.log('content')
