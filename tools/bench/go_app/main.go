// Baseline: Go's net/http with html/template, both calls concurrent, translations from a map.
//
// No session, no checks, no headers, no audit. Clinic, person and language are hard-coded, as in the other baselines:
//
//	go build -o /tmp/bench-go . && /tmp/bench-go PORT
package main

import (
	"bytes"
	"crypto/rand"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

//go:embed page.html
var source string

var (
	upstream = os.Getenv("BENCH_UPSTREAM")
	token    = "Bearer " + os.Getenv("BENCH_TOKEN")
	client   = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	words    = map[string]string{}
	tones    = map[string]string{"Signed": "success", "Pending": "attention", "PartiallySigned": "attention"}
	page     = template.Must(template.New("page").Funcs(template.FuncMap{"t": translated, "icon": newIcon, "initials": initials}).Parse(source))
)

type form struct {
	ID            string `json:"id"`
	Title         string `json:"title"`
	Status        string `json:"status"`
	ProcedureDate string `json:"procedureDate"`
}

type episode struct {
	ID           string                       `json:"id"`
	Number       string                       `json:"number"`
	Status       string                       `json:"status"`
	Patient      struct{ FullName string }    `json:"patient"`
	ConsentForms []form                       `json:"consentForms"`
	Appointments []map[string]json.RawMessage `json:"appointments"`
}

type forms struct {
	Items []form `json:"items"`
}

type icon struct {
	Name, Label string
	IsLarge     bool
}

type link struct {
	Label, Href, Icon, Key string
	IsCurrent              bool
	Count                  int
}

type row struct {
	Title, Href, Day, Status, Tone string
}

type context struct {
	Nonce, Name, Here, Clinic, Title, Tab string
	Episode                               episode
	Status                                string
	Unread                                int
	Nav, Tabs                             []link
	Languages                             [][2]string
	Rows                                  []row
	ExpiresAt                             string
}

var sections = [][4]string{
	{"/", "Worklist", "home", "h"}, {"/consents", "Consents", "consent", "c"},
	{"/protocols", "Protocols", "protocol", "p"}, {"/care-team", "Care team", "people", "t"},
	{"/conversations", "Messages", "message", "m"}, {"/open", "Open by id", "open", "o"},
	{"/notifications", "Notifications", "bell", "n"},
	{"/notifications/settings", "Notification settings", "settings", "s"},
}

var tabs = [][2]string{
	{"overview", "Today"}, {"timeline", "Timeline"}, {"monitoring", "Monitoring"}, {"medication", "Medicines"},
	{"appointments", "Appointments"}, {"embryos", "Embryos"}, {"documents", "Documents"}, {"consents", "Consents"},
	{"team", "Care team"},
}

func translated(text string) string {
	if found, ok := words[text]; ok {
		return found
	}
	return text
}

func newIcon(name, label string, isLarge bool) icon { return icon{name, label, isLarge} }

// initials are the first letters of the first and the last of somebody's names.
func initials(name string) []string {
	names := strings.Fields(name)
	first := []string{strings.ToUpper(names[0][:1])}
	if len(names) > 1 {
		first = append(first, strings.ToUpper(names[len(names)-1][:1]))
	}
	return first
}

func read(path string, into any) error {
	request, err := http.NewRequest(http.MethodGet, upstream+path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", token)
	request.Header.Set("Accept", "application/json")
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	return json.NewDecoder(answer.Body).Decode(into)
}

func consents(writer http.ResponseWriter, request *http.Request) {
	id := strings.TrimSuffix(strings.TrimPrefix(request.URL.Path, "/episodes/"), "/consents")
	var treatment episode
	var listed forms
	failed := make(chan error, 1)
	go func() {
		failed <- read("/api/care/consent-forms?EpisodeId="+id+"&SkipCount=0&MaxResultCount=100", &listed)
	}()
	err := read("/api/patient-portal/episodes/"+id, &treatment)
	if other := <-failed; err == nil {
		err = other
	}
	var made bytes.Buffer
	if err == nil {
		err = page.Execute(&made, contextOf(treatment, listed, request.URL.Path))
	}
	if err != nil {
		http.Error(writer, err.Error(), http.StatusBadGateway)
		return
	}
	writer.Header().Set("Content-Type", "text/html; charset=utf-8")
	writer.Header().Set("Content-Length", strconv.Itoa(made.Len()))
	_, _ = writer.Write(made.Bytes())
}

func contextOf(treatment episode, listed forms, here string) context {
	read := make(map[string]form, len(listed.Items))
	for _, one := range listed.Items {
		read[one.ID] = one
	}
	rows := make([]row, len(treatment.ConsentForms))
	for place, brief := range treatment.ConsentForms {
		tone := tones[brief.Status]
		if tone == "" {
			tone = "neutral"
		}
		day := ""
		if on, err := time.Parse("2006-01-02", read[brief.ID].ProcedureDate); err == nil {
			day = on.Format("Mon 2 Jan")
		}
		rows[place] = row{brief.Title, "/consents/" + brief.ID, day, translated(brief.Status), tone}
	}
	status := treatment.Status
	if status == "Active" {
		status = translated("Under way")
	}
	nav := make([]link, len(sections))
	for place, one := range sections {
		nav[place] = link{Href: one[0], Label: translated(one[1]), Icon: one[2], Key: one[3], IsCurrent: here == one[0]}
	}
	parts := make([]link, len(tabs))
	for place, one := range tabs {
		count := 0
		switch one[0] {
		case "appointments":
			count = len(treatment.Appointments)
		case "consents":
			count = len(rows)
		}
		href := "/episodes/" + treatment.ID + "/" + one[0]
		parts[place] = link{Href: href, Label: translated(one[1]), IsCurrent: one[0] == "consents", Count: count}
	}
	return context{
		Nonce: nonce(), Name: "Nora Quinn", Here: here, Clinic: "Riverside Fertility",
		Title: translated("Antagonist protocol"), Tab: translated("Consents"),
		Episode: treatment, Status: status, Unread: 1, Nav: nav, Tabs: parts, Rows: rows,
		Languages: [][2]string{{"en", "English"}, {"es", "Español"}, {"ar", "العربية"}},
		ExpiresAt: time.Now().UTC().Format(time.RFC3339),
	}
}

func nonce() string {
	random := make([]byte, 18)
	if _, err := rand.Read(random); err != nil {
		panic(err)
	}
	return base64.URLEncoding.EncodeToString(random)
}

func main() {
	http.HandleFunc("/episodes/", consents)
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
